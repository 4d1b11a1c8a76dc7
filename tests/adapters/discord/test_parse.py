"""Parsing of Discord's messages, without a server."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.channel import Address, Attachment, AttachmentKind, ChatKind, InboundMessage, Quote, Sender, Via
from adapters.discord.parse import DiscordBot, IgnoredEvent, parse_edit, parse_message
from adapters.discord.places import ChannelDirectory, ChatLocation, place_of
from adapters.discord.wire import Channel, GatewayEvent, MessageData

ME = DiscordBot("home", "100", {"101": "Strand"})
GROUP = ChatLocation(ChatKind.GROUP, "300")
DIRECT = ChatLocation(ChatKind.DIRECT, "500")
ANNA: dict[str, Any] = {"id": "42", "username": "anna", "global_name": "Anna", "bot": False}
BOT: dict[str, Any] = {"id": "100", "username": "strand", "bot": True}


def message(content: str = "hello", **more: Any) -> dict[str, Any]:
    plain = {"id": "7", "channel_id": "300", "author": ANNA, "timestamp": "2026-03-01T11:00:00+01:00", "type": 0}
    return {**plain, "content": content, **more}


def read(place: ChatLocation | None = GROUP, **given: Any) -> InboundMessage | IgnoredEvent | None:
    return parse_message(MessageData.model_validate(message(**given)), place, ME)


def heard(place: ChatLocation | None = GROUP, **given: Any) -> InboundMessage:
    found = read(place, **given)
    assert isinstance(found, InboundMessage)
    return found


def test_a_direct_message_is_read_whole() -> None:
    """Who, where, when and what; in a direct chat everything is for us."""
    assert heard(DIRECT) == InboundMessage(
        address=Address("discord", "home", "500"),
        id="7",
        sender=Sender("42", "Anna"),
        kind=ChatKind.DIRECT,
        text="hello",
        is_for_us=True,
        sent_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "given",
    [
        {"mentions": [BOT], "content": "<@100> hi"},
        {"mention_roles": ["101"], "content": "<@&101> hi"},
        {"type": 19, "referenced_message": message("earlier", author=BOT)},
    ],
)
def test_what_discord_marks_as_ours_is_for_us(given: dict[str, Any]) -> None:
    """A mention of the bot or of the role that is its alone, and a reply to it, with or without a ping."""
    assert heard(**given).is_for_us


@pytest.mark.parametrize(
    "given",
    [
        {"content": "<@100> strand, hi"},
        {"content": "@strand hi"},
        {"mentions": [ANNA]},
        {"mention_roles": ["999"]},
        {"mention_everyone": True, "content": "@everyone"},
        {"type": 19, "referenced_message": message("earlier")},
    ],
)
def test_what_only_looks_like_a_mention_is_none(given: dict[str, Any]) -> None:
    """Text that reads like one, a mention of others, of everybody."""
    assert not heard(**given).is_for_us


@pytest.mark.parametrize("field", ["timestamp", "edited_timestamp"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_utc_does_not_have_is_refused(field: str, moment: str) -> None:
    """As a shape that we do not know, which the listener counts and passes over."""
    with pytest.raises(ValidationError, match="out of the range of UTC times"):
        MessageData.model_validate(message(**{field: moment}))


@pytest.mark.parametrize("field", ["id", "channel_id"])
def test_a_message_without_an_id_is_refused(field: str) -> None:
    """Two of them would pass for the same."""
    with pytest.raises(ValidationError):
        MessageData.model_validate(message(**{field: ""}))


def test_the_call_at_the_beginning_is_no_part_of_what_was_said() -> None:
    """So a command works behind it; names elsewhere are written out, and a call alone stays as it is."""
    assert heard(content="<@100> /status", mentions=[BOT]).text == "/status"
    assert heard(content="<@!100>  ask <@42> or <@43>", mentions=[BOT, ANNA]).text == "ask @Anna or <@43>"
    assert heard(content="<@100>", mentions=[BOT]).text == "@strand"


def test_the_bots_own_role_is_a_call_of_it_too() -> None:
    """Discord offers it under the bot's name, so people pick it as often; another role keeps its mark."""
    assert heard(content="<@&101> /status", mention_roles=["101"]).text == "/status"
    assert heard(content="<@&77> ask <@&101>", mention_roles=["77", "101"]).text == "<@&77> ask @Strand"
    assert heard(content="<@&101>", mention_roles=["101"]).text == "@Strand"


def test_a_servers_own_emoji_are_told_by_name() -> None:
    """Its number says nothing to a model, nor to who reads the note that it lands in."""
    assert (
        heard(content="done <:party:123456789> <a:wave_2:99> <:x:> a<b:c:d>").text
        == "done :party: :wave_2: <:x:> a<b:c:d>"
    )


def test_a_name_is_the_servers_then_the_persons_own() -> None:
    """The id is the transport's either way, and so are the roles."""
    assert heard(member={"nick": "Annie", "roles": ["8", "9"]}).sender == Sender("42", "Annie", roles=("8", "9"))
    assert heard(author={"id": "43", "username": "ben"}).sender == Sender("43", "ben")


def test_bots_are_flagged_and_webhooks_are_nobody() -> None:
    """A webhook chooses its name and picture freely; the door refuses both."""
    assert heard(author={**ANNA, "bot": True}).sender.is_bot
    hook = heard(webhook_id="42", author={"id": "42", "username": "Anna"})
    assert hook.sender == Sender("", "Anna", is_bot=True)


@pytest.mark.parametrize(
    ("target", "is_ours"),
    [
        ({"author": BOT}, True),
        ({"author": ANNA}, True),
        ({"author": {"id": "43", "username": "ben"}}, False),
        ({"author": BOT, "webhook_id": "100"}, False),
        (
            {"author": ANNA, "message_reference": {"type": 1}, "message_snapshots": [{"message": {"content": "x"}}]},
            False,
        ),
    ],
)
def test_only_our_words_and_the_senders_own_are_quoted_as_ours(target: dict[str, Any], is_ours: bool) -> None:
    """What somebody else said, a webhook said or was passed on is outside text."""
    quote = heard(type=19, referenced_message=message("earlier", **target)).quote
    assert quote is not None
    assert quote.is_ours == is_ours
    assert quote.is_bots == (is_ours and target["author"] == BOT)


def test_a_reply_quotes_its_target() -> None:
    """With its author; a target that is gone or empty leaves nothing to quote."""
    ben = {"id": "43", "username": "ben"}
    assert heard(type=19, referenced_message=message("why?", author=ben)).quote == Quote("ben", "why?")
    assert heard(type=19, referenced_message=None).quote is None
    assert heard(type=19, referenced_message=message("")).quote is None


def test_a_forward_is_a_quote_and_not_its_sender_speaking() -> None:
    """The words are data; who wrote them Discord does not say."""
    snapshot = {"message": {"content": "delete all", "attachments": [{"filename": "a.pdf", "size": 900}]}}
    found = heard(content="", message_reference={"type": 1}, message_snapshots=[snapshot])
    assert found.text == ""
    assert found.quote == Quote("somebody", "delete all\n[attachment: a.pdf, 900 bytes]")
    assert not found.is_for_us


def test_what_lies_beside_the_words_is_named() -> None:
    """In quoted words files by name and size, stickers by name; a name cannot begin a line of its own."""
    files = [{"filename": "a\nb.png", "size": 1_234_567}, {"filename": "c.txt", "size": 5_000}]
    quoted = message("look", attachments=files, sticker_items=[{"name": "Wave"}])
    quote = heard(type=19, referenced_message=quoted).quote
    assert quote is not None
    assert quote.text == "look\n[attachment: a b.png, 1.2 MB]\n[attachment: c.txt, 5.0 kB]\n[sticker: Wave]"


def test_a_message_says_to_which_server_its_chat_belongs() -> None:
    """A direct chat to none."""
    assert heard(guild_id="200").space == "200"
    assert heard(DIRECT).space is None


@pytest.mark.parametrize(
    ("file", "kind", "mime"),
    [
        ({"content_type": "image/png"}, AttachmentKind.PHOTO, "image/png"),
        ({"content_type": "audio/ogg", "duration_secs": 2.5}, AttachmentKind.VOICE, "audio/ogg"),
        ({"content_type": "audio/mpeg"}, AttachmentKind.AUDIO, "audio/mpeg"),
        ({"content_type": "video/mp4"}, AttachmentKind.VIDEO, "video/mp4"),
        ({"content_type": "text/plain; charset=utf-8"}, AttachmentKind.DOCUMENT, "text/plain"),
        ({}, AttachmentKind.DOCUMENT, ""),
    ],
)
def test_a_file_is_what_its_type_says(file: dict[str, Any], kind: AttachmentKind, mime: str) -> None:
    """With a name of one line; where it is found says the message, never the sender."""
    given = {"id": "70", "filename": "a\nb", "size": 9, "url": "https://cdn.example/a?hm=signature", **file}
    assert heard(content="", attachments=[given]).attachments == (Attachment(kind, "300/7/70", "a b", mime, 9),)


def test_a_change_is_a_message_of_its_own_that_names_the_old_one() -> None:
    """Each change has an id; what only shows a message anew, with the time of its last change, has that one's."""
    edited = message("hello there", edited_timestamp="2026-03-01T12:00:00.250+01:00")
    found = parse_edit(MessageData.model_validate(edited), GROUP, ME)
    assert isinstance(found, InboundMessage)
    assert (found.text, found.via, found.target) == ("hello there", Via.EDIT, "7")
    assert found.sent_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    pinned = parse_edit(MessageData.model_validate({**edited, "pinned": True}), GROUP, ME)
    assert pinned == found
    later = {**edited, "edited_timestamp": "2026-03-01T12:00:00.251+01:00"}
    again = parse_edit(MessageData.model_validate(later), GROUP, ME)
    assert isinstance(again, InboundMessage)
    assert len({found.id, again.id, "7"}) == 3


def test_what_nobody_changed_is_no_change() -> None:
    """A preview was added; and what we changed ourselves is nothing either."""
    assert parse_edit(MessageData.model_validate(message("see")), GROUP, ME) is None
    ours = message("ours", author=BOT, edited_timestamp="2026-03-01T12:00:00+01:00")
    assert parse_edit(MessageData.model_validate(ours), GROUP, ME) is None


@pytest.mark.parametrize(
    "more",
    [
        {"embeds": [{}]},
        {"components": [{}]},
        {"poll": {"question": {}}},
        {"message_reference": {"type": 1}, "message_snapshots": [{"message": {"content": ""}}]},
        {"webhook_id": "9"},
        {"type": 7},
        {"guild_id": None},
    ],
)
def test_an_empty_message_in_a_server_is_hidden_from_us(more: dict[str, Any]) -> None:
    """People cannot write one; with anything in it, or from elsewhere, there is only nothing to read."""
    assert read(content="", guild_id="200") is IgnoredEvent.HIDDEN
    assert read(**{"content": "", "guild_id": "200", **more}) is IgnoredEvent.NO_TEXT


@pytest.mark.parametrize(
    ("place", "given", "why"),
    [
        (None, {}, IgnoredEvent.NO_CHAT),
        (GROUP, {"content": "  "}, IgnoredEvent.NO_TEXT),
        (GROUP, {"type": 7}, IgnoredEvent.NO_TEXT),
        (GROUP, {"type": 21, "content": "begins a thread"}, IgnoredEvent.NO_TEXT),
    ],
)
def test_what_is_no_message_for_us_says_why(
    place: ChatLocation | None, given: dict[str, Any], why: IgnoredEvent
) -> None:
    """Each has a reason code of its own."""
    assert read(place, **given) is why


def test_what_we_said_ourselves_is_nothing() -> None:
    """Discord tells us each of our own messages: no answer to it, and no line in the status either."""
    assert read(author=BOT) is None
    assert read(None, author=BOT) is None


@pytest.mark.parametrize(
    ("channel", "place"),
    [
        ({"type": 0}, ChatLocation(ChatKind.GROUP, "9")),
        ({"type": 2}, ChatLocation(ChatKind.GROUP, "9")),
        ({"type": 5}, ChatLocation(ChatKind.GROUP, "9")),
        ({"type": 1}, ChatLocation(ChatKind.DIRECT, "9")),
        ({"type": 11, "parent_id": "3"}, ChatLocation(ChatKind.GROUP, "3", "9")),
        ({"type": 12, "parent_id": "3"}, ChatLocation(ChatKind.GROUP, "3", "9")),
        ({"type": 3}, None),
        ({"type": 4}, None),
        ({"type": 11}, None),
        ({"type": 99}, None),
    ],
)
def test_a_channel_is_a_chat_a_thread_or_neither(channel: dict[str, Any], place: ChatLocation | None) -> None:
    """A forum's post is a thread; a group of direct chats, which many read, is never taken for a direct chat."""
    assert place_of(Channel.model_validate({"id": "9", **channel})) == place


def test_places_are_learned_from_what_discord_tells() -> None:
    """Of a server when we come, of threads, which bear their channel's name; and which role is the bot's own."""
    places = ChannelDirectory()
    assert not places.knows("3")
    server = {
        "channels": [{"id": "3", "type": 0, "name": "general"}],
        "threads": [{"id": "4", "type": 11, "parent_id": "3"}],
    }
    roles = [
        {"id": "8", "name": "Strand", "tags": {"bot_id": "100"}},
        {"id": "9", "tags": {"bot_id": "77"}},
        {"id": "10"},
    ]
    places.learn(GatewayEvent("GUILD_CREATE", {**server, "roles": roles}), "100")
    places.learn(GatewayEvent("THREAD_CREATE", {"id": "5", "type": 11, "parent_id": "3"}), "100")
    places.learn(GatewayEvent("THREAD_LIST_SYNC", {"threads": [{"id": "6", "type": 12, "parent_id": "3"}]}), "100")
    places.learn(GatewayEvent("TYPING_START", {"id": "7", "type": 0}), "100")
    assert [places.find(number) for number in "3456"] == [
        ChatLocation(ChatKind.GROUP, "3", name="#general"),
        *(ChatLocation(ChatKind.GROUP, "3", thread, "#general") for thread in "456"),
    ]
    assert not places.knows("7")
    assert places.own_roles == {"8": "Strand"}


def test_the_oldest_places_are_forgotten() -> None:
    """Threads come and go for months."""
    places = ChannelDirectory(most=2)
    places.note([Channel(id=number, type=0) for number in "345"])
    assert [places.knows(number) for number in "345"] == [False, True, True]
