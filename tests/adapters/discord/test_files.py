"""Files on Discord: download of people's attachments, and sending of ours."""

import socket
from dataclasses import replace

import pytest

from adapters.abilities import FetchesFiles, SendsFiles
from adapters.channel import (
    Address,
    Attachment,
    AttachmentKind,
    Body,
    ChannelUnavailableError,
    FetchRefusedError,
    OutboundMessage,
    SendRefusedError,
    Upload,
)
from adapters.discord import DiscordAdapter
from adapters.discord.send import nonce_of
from strandline.testing.listening import Received, listening
from tests.fakes.discord import Discord, Fault, servers_of
from tests.fakes.discord_shapes import CHANNEL, TOKEN
from tests.fakes.tally import Tally

HERE = Address("discord", "home", CHANNEL)


async def attached(server: Discord, adapter: DiscordAdapter, content: bytes) -> Attachment:
    """Let a person send a file, and return what the gateway hears of it."""
    received = Received()
    async with listening(adapter, received):
        server.says("", attachments=[server.attach("plan.txt", content)])
        (message,) = await received.wait_for(1)
    return message.attachments[0]


async def fetched(adapter: DiscordAdapter, attachment: Attachment) -> list[bytes]:
    return [piece async for piece in adapter.fetch(attachment)]


async def test_a_file_alone_is_a_message(server: Discord, adapter: DiscordAdapter) -> None:
    """What names it holds neither address nor signature, so it may be kept."""
    attachment = await attached(server, adapter, b"milk")
    assert (attachment.kind, attachment.name, attachment.mime) == (AttachmentKind.DOCUMENT, "plan.txt", "text/plain")
    assert attachment.size == 4
    assert "signature" not in repr(attachment)
    assert "http" not in attachment.ref


async def test_a_file_is_fetched_in_pieces(server: Discord, adapter: DiscordAdapter) -> None:
    """None larger than the contract says; together they are the file."""
    content = bytes(range(256)) * 1_000
    attachment = await attached(server, adapter, content)
    assert isinstance(adapter, FetchesFiles)
    pieces = await fetched(adapter, attachment)
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= 65_536


async def test_a_file_is_fetched_by_another_run_a_day_later(server: Discord, adapter: DiscordAdapter) -> None:
    """Its address is asked for anew: by then the one that came with the message has run out."""
    attachment = await attached(server, adapter, b"milk")
    (path,) = server.files
    server.files = {path.replace("plan", "plan-of-today"): b"milk"}
    message = server.message(attachment.ref.split("/")[1])
    message["attachments"][0]["url"] = message["attachments"][0]["url"].replace("plan", "plan-of-today")
    another = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server))
    assert await fetched(another, attachment) == [b"milk"]
    await another.close()


async def test_a_file_that_is_gone_is_refused(server: Discord, adapter: DiscordAdapter) -> None:
    """From the message, with the message, from the file server: another try cannot help."""
    attachment = await attached(server, adapter, b"milk")
    server.files.clear()
    with pytest.raises(FetchRefusedError, match="no longer exists"):
        await fetched(adapter, attachment)
    with pytest.raises(FetchRefusedError, match="no longer exists"):
        await fetched(adapter, replace(attachment, ref=attachment.ref + "1"))
    channel, _, number = attachment.ref.split("/")
    with pytest.raises(FetchRefusedError, match="no longer exists"):
        await fetched(adapter, replace(attachment, ref=f"{channel}/999/{number}"))


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:9/attachments/x", "https://cdn.example/x", "http://localhost/x", "/x", ""],
    ids=["port", "host", "name", "relative", "none"],
)
async def test_nothing_is_fetched_from_elsewhere(server: Discord, adapter: DiscordAdapter, url: str) -> None:
    """A message cannot send us anywhere but to Discord's file server."""
    attachment = await attached(server, adapter, b"milk")
    server.message(attachment.ref.split("/")[1])["attachments"][0]["url"] = url
    with pytest.raises(FetchRefusedError, match="not hosted by Discord"):
        await fetched(adapter, attachment)


async def test_the_file_server_cannot_send_us_elsewhere(server: Discord, adapter: DiscordAdapter) -> None:
    """No redirection is followed."""
    attachment = await attached(server, adapter, b"milk")
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        location = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        server.fault(Fault("/plan.txt", status=302, page="moved", headers={"Location": location}))
        with pytest.raises(ChannelUnavailableError, match="status 302"):
            await fetched(adapter, attachment)


@pytest.mark.parametrize("fault", [Fault("/plan.txt", status=503, page="x"), Fault("/plan.txt", drops=True)])
async def test_an_outage_of_the_file_server_is_temporary(
    server: Discord, adapter: DiscordAdapter, fault: Fault
) -> None:
    """The next try may work, and then it does."""
    attachment = await attached(server, adapter, b"milk")
    server.fault(*[fault] * (2 if fault.drops else 1))  # aiohttp asks once more by itself
    with pytest.raises(ChannelUnavailableError):
        await fetched(adapter, attachment)
    assert await fetched(adapter, attachment) == [b"milk"]


async def test_a_file_is_sent_once(server: Discord, adapter: DiscordAdapter) -> None:
    """Beside its words, or alone; a second try of the same key is the message that is there."""
    assert isinstance(adapter, SendsFiles)
    message = OutboundMessage(HERE, Body("see", upload=Upload("plan.bin", b"\x00\xff")), "t1.0")
    sent = await adapter.send(message)
    assert await adapter.send(message) == sent
    await adapter.send(OutboundMessage(HERE, Body("", upload=Upload("b", b"")), "t1.1"))
    assert [(posted.text, posted.upload) for posted in server.posted] == [("see", b"\x00\xff"), ("", b"")]
    body = server.calls("/messages")[0]
    assert body["attachments"] == [{"id": "0", "filename": "plan.bin"}]
    assert (body["nonce"], body["enforce_nonce"]) == (nonce_of("t1.0"), True)
    assert (body["allowed_mentions"], body["flags"]) == ({"parse": []}, 4)


async def test_a_files_name_stays_a_name(server: Discord, adapter: DiscordAdapter) -> None:
    """It cannot end the head of its part of the request."""
    name = 'a"\r\nX-Injected: 1\r\n\r\nb\\.txt'
    await adapter.send(OutboundMessage(HERE, Body("see", upload=Upload(name, b"milk")), "t1.0"))
    assert server.posted[0].upload == b"milk"
    assert server.posted[0].body["attachments"][0]["filename"] == "a___X-Injected: 1____b_.txt"


async def test_a_file_that_is_too_large_is_refused_with_words(server: Discord, adapter: DiscordAdapter) -> None:
    """By Discord, with its limit."""
    server.fault(Fault(status=413, answer={"message": "Request entity too large", "code": 40005}))
    with pytest.raises(SendRefusedError, match="at most 10 MB"):
        await adapter.send(OutboundMessage(HERE, Body("see", upload=Upload("a", b"x")), "t1.0"))
