"""File downloads from a Bot API server, and the meaning of each fault for the file."""

import traceback

import pytest

from adapters.abilities import FetchesFiles
from adapters.channel import (
    Attachment,
    AttachmentKind,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    FetchRefusedError,
)
from adapters.telegram import TelegramAdapter
from adapters.telegram.files import LARGEST_FILE
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.telegram import Fault

PLAN = Attachment(AttachmentKind.DOCUMENT, "plan", "plan.pdf", "application/pdf")


@pytest.fixture(autouse=True)
def uploaded(server: BotApi) -> None:
    server.files["plan"] = bytes(range(256)) * 1000


async def fetched(adapter: FetchesFiles, attachment: Attachment = PLAN) -> list[bytes]:
    return [piece async for piece in adapter.fetch(attachment)]


async def test_a_file_comes_whole_and_in_pieces(server: BotApi, adapter: TelegramAdapter) -> None:
    """Whoever keeps it need not hold it in memory."""
    pieces = await fetched(adapter)
    assert b"".join(pieces) == server.files["plan"]
    assert len(pieces) > 1
    assert max(map(len, pieces)) <= 64 * 1024


async def test_a_file_that_is_too_large_is_not_asked_for(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram gives a bot 20 MB; the size that came with the message is believed first."""
    with pytest.raises(FetchRefusedError, match="20 MB"):
        await fetched(adapter, Attachment(AttachmentKind.VIDEO, "plan", size=LARGEST_FILE + 1))
    assert server.requests == []


async def test_a_file_that_grows_too_large_is_dropped(server: BotApi, adapter: TelegramAdapter) -> None:
    """Whatever was said of its size: what `getFile` says counts, and what really comes."""
    server.files["plan"] = bytes(LARGEST_FILE + 1)
    with pytest.raises(FetchRefusedError, match="larger"):
        await fetched(adapter)
    assert server.calls("download") == []
    unsized = '{"ok": true, "result": {"file_id": "plan", "file_unique_id": "u", "file_path": "documents/plan"}}'
    server.fault(Fault("getFile", body=unsized))
    with pytest.raises(FetchRefusedError, match="larger"):
        await fetched(adapter)
    assert len(server.calls("download")) == 1


PAGE = f"<html>/file/bot{TOKEN}/documents/plan</html>"
NOWHERE = '{"ok": true, "result": {"file_id": "a", "file_unique_id": "u"}}'
GONE = Fault("download", drops=True)
CASES: list[tuple[list[Fault], type[ChannelError]]] = [
    ([Fault("getFile", status=400, description="Bad Request: file is too big")], FetchRefusedError),
    ([Fault("getFile", status=429, parameters={"retry_after": 3})], ChannelUnavailableError),
    ([Fault("getFile", status=401, description="Unauthorized")], ChannelConfigError),
    ([Fault("getFile", drops=True)], ChannelUnavailableError),
    ([Fault("getFile", body=NOWHERE)], FetchRefusedError),
    ([Fault("download", status=404, description="Not Found")], FetchRefusedError),
    ([Fault("download", status=502, body=PAGE)], ChannelUnavailableError),
    ([GONE, GONE], ChannelUnavailableError),  # the client itself asks once more on a new connection
]


@pytest.mark.parametrize(("faults", "error"), CASES)
async def test_each_fault_says_whether_another_try_helps(
    server: BotApi, adapter: TelegramAdapter, faults: list[Fault], error: type[ChannelError]
) -> None:
    """And nothing that could be logged holds the token, which is part of a file's address."""
    server.fault(*faults)
    with pytest.raises(error) as caught:
        await fetched(adapter)
    assert type(caught.value) is error
    assert TOKEN not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert b"".join(await fetched(adapter)) == server.files["plan"]


async def test_a_file_that_is_not_the_bots_is_refused(adapter: TelegramAdapter) -> None:
    """A reference means something to the bot that brought it, and to no other."""
    with pytest.raises(FetchRefusedError, match="wrong file_id"):
        await fetched(adapter, Attachment(AttachmentKind.PHOTO, "somebody else's"))


async def test_a_closed_channel_fetches_nothing(server: BotApi, adapter: TelegramAdapter) -> None:
    """No connection is opened again."""
    await adapter.close()
    with pytest.raises(ChannelUnavailableError):
        await fetched(adapter)
    assert server.requests == []
