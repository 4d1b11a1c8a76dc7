"""Shapes of Telegram's data, and its counting and marking of texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

BOT = {"id": 123456, "is_bot": True, "first_name": "Strand", "username": "strand_bot"}
ME = BOT | {"can_read_all_group_messages": True}
"""The bot's own user: its privacy mode is off."""
TEXT_LIMIT, CAPTION_LIMIT = 4096, 1024
GENERAL_TOPIC = 1
_MARKS = ((r"(?<!\w)@\w{4,}", "mention"), (r"(?<![\w/])/\w+(?:@\w+)?", "bot_command"))


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault sent in place of an answer; a request that it *accepts* takes effect before."""

    method: str = "sendMessage"
    status: int = 200
    description: str = ""
    parameters: Json = field(default_factory=dict)
    """The `parameters` of Telegram's error object, such as `retry_after`."""
    body: str | None = None
    """Sent as an HTML page instead of Telegram's JSON."""
    location: str | None = None
    """Redirect target; `{token}` stands for the bot's."""
    accepts: bool = False
    drops: bool = False
    """The connection is reset without an answer."""
    hangs: bool = False
    """No answer until the client disconnects."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call of the Bot API."""

    method: str
    params: Json
    at: float


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the bot that Telegram accepted and shows."""

    chat: int
    thread: int | None
    text: str
    entities: list[Json]
    reply_to: int | None
    message_id: int
    at: float
    file: Json | None = None
    """Its file: `method`, `name`, `size`."""
    buttons: list[list[Json]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook set by the bot."""

    url: str
    secret: str
    connections: int
    allowed: list[str]


class RefusedError(Exception):
    """Telegram's error answer."""

    def __init__(self, status: int, description: str, parameters: Json | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.parameters = parameters


def utf16_length(text: str) -> int:
    """Return the length as counted by Telegram."""
    return len(text.encode("utf-16-le")) // 2


def type_of(chat: int) -> str:
    """Return the type of a chat by its id; groups are supergroups here."""
    return "private" if chat > 0 else "supergroup"


def marks(text: str) -> Iterator[Json]:
    """Yield mentions and commands, marked as on Telegram."""
    for pattern, kind in _MARKS:
        for found in re.finditer(pattern, text):
            yield {"type": kind, "offset": utf16_length(text[: found.start()]), "length": utf16_length(found.group())}


def splits_pair(units: bytes, at: int) -> bool:
    """Tell whether a cut at *at* splits a surrogate pair."""
    return 0 < at < len(units) // 2 and 0xDC00 <= int.from_bytes(units[2 * at : 2 * at + 2], "little") < 0xE000
