"""Sends to a Bot API server: requests, and the meaning of each fault for the message."""

import asyncio
import traceback
from typing import Any

import pytest
from aiogram.exceptions import ClientDecodeError

from adapters.abilities import ShowsTyping
from adapters.channel import (
    Address,
    Body,
    Button,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    Entity,
    EntityType,
    OutboundMessage,
    SendRefusedError,
    UnsureSendError,
    Upload,
)
from adapters.telegram import Groups, TelegramAdapter
from adapters.telegram.faults import unread_result
from adapters.telegram.moved import MIGRATED, CurrentChat
from adapters.telegram.send import LARGEST_PHOTO, LARGEST_UPLOAD, PLAIN_FALLBACK, send_requests
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.tally import Tally
from tests.fakes.telegram import Fault

ANNA = Address("telegram", "home", "42")
TOPIC = Address("telegram", "home", "-1001", "77")
BOLD = Body("hi there", (Entity(EntityType.BOLD, 0, 2),))
TOO_FAR = Body("hi there", (Entity(EntityType.BOLD, 0, 99),))


@pytest.fixture(autouse=True)
def joined(server: BotApi) -> None:
    server.join(42)
    server.join(-1001, 77)


def to(address: Address, body: Body = BOLD, reply_to: str | None = None) -> OutboundMessage:
    return OutboundMessage(address, body, key="t1.0", reply_to=reply_to)


async def test_text_and_entities_arrive_without_a_preview(server: BotApi, adapter: TelegramAdapter) -> None:
    """Formatting is sent as entities, links are not fetched, and the receipt is Telegram's own id."""
    body = Body(
        "😀 site\nx",
        (Entity(EntityType.TEXT_LINK, 3, 4, url="https://a.example"), Entity(EntityType.PRE, 8, 1, language="py")),
    )
    sent = await adapter.send(to(ANNA, body))
    (message,) = server.sent
    assert message.text == body.text
    assert message.entities == [
        {"type": "text_link", "offset": 3, "length": 4, "url": "https://a.example"},
        {"type": "pre", "offset": 8, "length": 1, "language": "py"},
    ]
    assert sent.message_id == str(message.message_id)
    (params,) = server.calls("sendMessage")
    assert params["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in params


async def test_a_reply_is_tied_to_its_question_while_that_exists(server: BotApi, adapter: TelegramAdapter) -> None:
    """When the question was deleted the answer still arrives."""
    asked = server.says(42, "why?")["message"]["message_id"]
    await adapter.send(to(ANNA, reply_to=str(asked)))
    await adapter.send(to(ANNA, reply_to="999"))
    assert [message.reply_to for message in server.sent] == [asked, None]


async def test_a_topic_is_named_and_the_general_one_is_not(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram refuses a send that names the General topic, and wants it in a chat action."""
    await adapter.send(to(TOPIC))
    await adapter.send(to(Address("telegram", "home", "-1001", "1")))
    assert [message.thread for message in server.sent] == [77, None]
    assert isinstance(adapter, ShowsTyping)
    for thread in (None, "1", "77"):
        await adapter.show_typing(Address("telegram", "home", "-1001", thread))
    assert [call.get("message_thread_id") for call in server.calls("sendChatAction")] == [None, "1", "77"]
    assert {call["action"] for call in server.calls("sendChatAction")} == {"typing"}


async def test_a_message_refused_with_formatting_goes_out_plain(
    server: BotApi, adapter: TelegramAdapter, tally: Tally
) -> None:
    """Plain text rather than nothing, once, and counted."""
    await adapter.send(to(ANNA, TOO_FAR))
    assert [(message.text, message.entities) for message in server.sent] == [("hi there", [])]
    assert tally.reasons == {PLAIN_FALLBACK: 1}
    server.fault(*[Fault(status=400, description="Bad Request: still wrong")] * 2)
    with pytest.raises(SendRefusedError, match="still wrong"):
        await adapter.send(to(ANNA, TOO_FAR))
    assert len(server.calls("sendMessage")) == 4
    assert tally.reasons == {PLAIN_FALLBACK: 1}


@pytest.mark.parametrize(
    ("address", "body", "why"),
    [
        (Address("telegram", "home", "43"), BOLD, "chat not found"),
        (Address("telegram", "home", "-1001", "78"), BOLD, "thread not found"),
        (Address("telegram", "home", "@anna"), BOLD, "by numbers, not by '@anna'"),
        (ANNA, Body("x" * 4097), "too long"),
        (ANNA, Body(" "), "empty"),
    ],
)
async def test_what_telegram_will_never_take_is_refused(
    server: BotApi, adapter: TelegramAdapter, address: Address, body: Body, why: str
) -> None:
    """The gateway buries such a message and tells why; nothing was sent."""
    with pytest.raises(SendRefusedError, match=why):
        await adapter.send(to(address, body))
    assert server.sent == []
    assert len(server.calls("sendMessage")) <= 1 + len(body.entities)


async def test_a_person_who_blocked_us_is_left_alone(server: BotApi, adapter: TelegramAdapter) -> None:
    """One try, formatted or not, and no more."""
    server.blocked.add(42)
    with pytest.raises(SendRefusedError, match="blocked by the user"):
        await adapter.send(to(ANNA))
    assert len(server.calls("sendMessage")) == 1


GROUP = Address("telegram", "home", "-5")


async def test_an_answer_follows_its_group(server: BotApi, adapter: TelegramAdapter, tally: Tally) -> None:
    """It goes to where the group is now, once, and whoever asked is told of the move once; so do all that follow."""
    told: list[tuple[Address, str]] = []

    async def tell(address: Address, now: str) -> None:
        assert server.sent == []
        told.append((address, now))

    adapter.on_moved(tell)
    server.migrate(-5, -100777)
    server.says(-100777, "one", chat_type="supergroup")
    await adapter.send(to(GROUP, reply_to="1"))
    await adapter.send(to(GROUP, reply_to="1@-100777"))
    await adapter.show_typing(GROUP)
    assert [(message.chat, message.reply_to) for message in server.sent] == [(-100777, None), (-100777, 1)]
    assert [call["chat_id"] for call in server.calls("sendMessage")] == ["-5", "-100777", "-100777"]
    assert tally.reasons == {MIGRATED: 1}
    assert told == [(GROUP, "-100777")]


async def test_a_group_that_the_configuration_knows_as_moved_is_no_news(server: BotApi, tally: Tally) -> None:
    """Nothing is counted, and the first send goes to the right place."""
    server.migrate(-5, -100777)
    adapter = TelegramAdapter("home", TOKEN, tally.count, base_url=server.url, groups=Groups(moved={"-5": "-100777"}))
    await adapter.send(to(GROUP))
    await adapter.close()
    assert [message.chat for message in server.sent] == [-100777]
    assert len(server.calls("sendMessage")) == 1
    assert tally.reasons == {}


async def test_a_group_that_moves_on_and_on_is_left_alone(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram does not do that; who does cannot keep us busy."""
    server.migrate(-5, -6)
    server.migrate(-6, -5)
    with pytest.raises(SendRefusedError, match="supergroup"):
        await adapter.send(to(GROUP))
    assert len(server.calls("sendMessage")) == 2


async def test_a_file_goes_out_with_its_caption(server: BotApi, adapter: TelegramAdapter, tally: Tally) -> None:
    """A picture is shown as one; what Telegram refuses as a picture arrives as a document."""
    asked = str(server.says(42, "?")["message"]["message_id"])
    small, picture, plan = Upload("dot.png", b"."), Upload("cat.JPG", b"0123456789"), Upload("plan.md", b"# Plan")
    for upload in (small, picture, plan):
        await adapter.send(to(ANNA, Body("hi there", BOLD.entities, upload), reply_to=asked))
    await adapter.send(to(TOPIC, Body("", upload=plan)))
    files = [(message.file or {})["method"] for message in server.sent]
    assert files == ["sendDocument", "sendPhoto", "sendDocument", "sendDocument"]
    assert [(message.file or {})["name"] for message in server.sent] == ["dot.png", "cat.JPG", "plan.md", "plan.md"]
    assert [(message.file or {})["size"] for message in server.sent] == [1, 10, 6, 6]
    assert [message.text for message in server.sent] == ["hi there"] * 3 + [""]
    assert [len(message.entities) for message in server.sent] == [1, 1, 1, 0]
    assert [message.reply_to for message in server.sent[:3]] == [int(asked)] * 3
    assert server.sent[3].thread == 77
    assert tally.reasons == {}


async def test_a_caption_refused_with_formatting_goes_out_plain(
    server: BotApi, adapter: TelegramAdapter, tally: Tally
) -> None:
    """The file is the same."""
    await adapter.send(to(ANNA, Body("hi", TOO_FAR.entities, Upload("a.txt", b"x"))))
    (message,) = server.sent
    assert (message.text, message.entities) == ("hi", [])
    assert message.file is not None
    assert tally.reasons == {PLAIN_FALLBACK: 1}


async def test_a_caption_that_is_too_long_is_refused(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram takes 1,024 units; nothing was sent."""
    with pytest.raises(SendRefusedError, match="too long"):
        await adapter.send(to(ANNA, Body("x" * 1025, upload=Upload("a.txt", b"x"))))
    assert server.sent == []


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(server: BotApi, adapter: TelegramAdapter) -> None:
    """A bot may send 50 MB."""
    with pytest.raises(SendRefusedError, match=r"'big.bin' is larger than the 50 MB"):
        await adapter.send(to(ANNA, Body("", upload=Upload("big.bin", bytes(LARGEST_UPLOAD + 1)))))
    assert server.calls("sendDocument") == []


async def test_a_picture_that_is_too_large_for_one_goes_as_a_document(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram would refuse it only after it was sent."""
    await adapter.send(to(ANNA, Body("", upload=Upload("cat.jpg", bytes(LARGEST_PHOTO + 1)))))
    assert (server.calls("sendPhoto"), len(server.calls("sendDocument"))) == ([], 1)


async def test_an_upload_without_a_verdict_is_unsure(server: BotApi, adapter: TelegramAdapter) -> None:
    """As any message."""
    server.fault(Fault("sendDocument", drops=True, accepts=True))
    with pytest.raises(UnsureSendError):
        await adapter.send(to(ANNA, Body("", upload=Upload("a.txt", b"x"))))
    assert len(server.sent) == 1


async def test_buttons_stand_below_the_message(server: BotApi, adapter: TelegramAdapter) -> None:
    """Two a row, each with the command that it gives."""
    buttons = tuple(Button(name.title(), f"/{name} 3") for name in ("approve", "refuse", "undo"))
    await adapter.send(OutboundMessage(ANNA, BOLD, key="t1.0", buttons=buttons))
    (message,) = server.sent
    assert [[(key["text"], key["callback_data"]) for key in row] for row in message.buttons] == [
        [("Approve", "/approve 3"), ("Refuse", "/refuse 3")],
        [("Undo", "/undo 3")],
    ]


ENDLESS = {"status": 429, "description": "Too Many Requests", "parameters": {"retry_after": 10**18}}
WAIT = {"status": 429, "description": "Too Many Requests: retry after 31", "parameters": {"retry_after": 31}}
VERDICTS: list[tuple[dict[str, Any], type[ChannelError], float | None]] = [
    (WAIT, ChannelUnavailableError, 31.0),
    (ENDLESS, ChannelUnavailableError, 86_400.0),
    ({"status": 401, "description": "Unauthorized"}, ChannelConfigError, None),
    ({"status": 404, "description": "Not Found"}, ChannelConfigError, None),
    ({"status": 413, "description": "Request Entity Too Large"}, SendRefusedError, None),
    ({"status": 418, "description": "I'm a teapot"}, ChannelUnavailableError, None),
]


@pytest.mark.parametrize(("fault", "error", "wait_s"), VERDICTS, ids=[str(case[0]["status"]) for case in VERDICTS])
async def test_a_verdict_of_telegram_leaves_no_doubt(
    server: BotApi, adapter: TelegramAdapter, fault: dict[str, Any], error: type[ChannelError], wait_s: float | None
) -> None:
    """What Telegram refused with a code was not sent: it is put back, buried or a matter of configuration."""
    server.fault(Fault(**fault))
    with pytest.raises(error) as caught:
        await adapter.send(to(ANNA))
    assert type(caught.value) is error
    assert getattr(caught.value, "retry_after_s", None) == wait_s


@pytest.mark.parametrize("accepts", [True, False], ids=["taken", "not taken"])
@pytest.mark.parametrize(
    "fault",
    [
        {"drops": True},
        {"status": 500, "description": "Internal Server Error"},
        {"status": 502, "body": "<html>502 Bad Gateway</html>"},
        {"status": 502, "body": '{"ok": false}'},
        {"status": 504, "body": "\udcff"},
        {"status": 503, "description": "Service Unavailable: restart"},
    ],
    ids=["reset", "500", "502 page", "502 without a reason", "504 no text", "503"],
)
async def test_no_verdict_means_that_we_do_not_know(
    server: BotApi, adapter: TelegramAdapter, fault: dict[str, Any], accepts: bool
) -> None:
    """Seen from here, a message that was taken and one that was not look the same; one try, told as unsure."""
    server.fault(Fault(**fault, accepts=accepts))
    with pytest.raises(UnsureSendError):
        await adapter.send(to(ANNA))
    assert len(server.sent) == accepts
    assert len(server.calls("sendMessage")) == 1


async def test_a_send_that_hangs_is_unsure(
    server: BotApi, adapter: TelegramAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patience ends, and whether the message arrived stays open."""
    monkeypatch.setattr("adapters.telegram.send.SEND_TIMEOUT_S", 2)
    server.fault(Fault(hangs=True, accepts=True))
    with pytest.raises(UnsureSendError, match="TimeoutError"):
        async with asyncio.timeout(20):
            await adapter.send(to(ANNA))
    assert len(server.sent) == 1


async def test_a_send_that_is_cancelled_is_cancelled(server: BotApi, adapter: TelegramAdapter) -> None:
    """A shutdown is not taken for an error of Telegram's."""
    server.fault(Fault(hangs=True))
    async with asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(adapter.send(to(ANNA)))
        await server.until(lambda: len(server.calls("sendMessage")) == 1)
        sending.cancel()
    assert sending.cancelled()


async def test_a_receipt_that_the_sdk_cannot_read_is_one(server: BotApi, adapter: TelegramAdapter) -> None:
    """Telegram said that it took the message, so it is not sent again."""
    server.fault(Fault(status=200, body='{"ok": true, "result": {"message_id": 5, "date": "invented"}}', accepts=True))
    assert (await adapter.send(to(ANNA))).message_id == "5"
    refused = ClientDecodeError("unread", ValueError(), {"ok": False, "result": {"message_id": 5}})
    assert unread_result(refused) is None


async def test_typing_that_fails_is_a_channel_error(server: BotApi, adapter: TelegramAdapter) -> None:
    """It never looks as if a message were lost."""
    server.fault(Fault("sendChatAction", drops=True))
    with pytest.raises(ChannelUnavailableError):
        await adapter.show_typing(ANNA)
    with pytest.raises(ChannelUnavailableError, match="chat not found"):
        await adapter.show_typing(Address("telegram", "home", "43"))


async def test_no_error_shows_the_token_or_the_text(server: BotApi, adapter: TelegramAdapter) -> None:
    """Errors are logged; people's words and the token are not."""
    page = f"<html>/bot{TOKEN}/sendMessage hi there</html>"
    for fault in (Fault(status=502, body=page), Fault(status=500, description=f"at /bot{TOKEN}/"), Fault(drops=True)):
        server.fault(fault)
        with pytest.raises(UnsureSendError) as caught:
            await adapter.send(to(ANNA))
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert TOKEN not in told
        assert "hi there" not in told


def test_a_request_is_made_without_io() -> None:
    """What is sent depends on the message alone, and on where its chat is."""
    place = CurrentChat(42, has_moved=False)
    assert send_requests(to(TOPIC), place) == send_requests(to(TOPIC), place)
    assert len(send_requests(to(ANNA, Body("x")), place)) == 1
