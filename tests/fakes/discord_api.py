"""Discord's state and behaviour behind its REST API, for one bot, without a network.

Bodies are checked against Discord's published schema if it is present beside the repository.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from tests.fakes.discord_shapes import (
    APPLICATION,
    BOT_ID,
    CHANNEL,
    DIRECT,
    GUILD,
    LIMIT,
    PERSON,
    ROLES,
    THREAD,
    Json,
    message,
    problems_of,
    user,
)

LOADING = 1 << 7
_EPOCH_MS = 1_420_070_400_000
_SLASH, _COMPONENT = 2, 3


@dataclass(frozen=True, slots=True)
class Posted:
    """A message of the bot accepted by Discord."""

    id: str
    channel: str
    body: Json
    upload: bytes | None = None

    @property
    def text(self) -> str:
        """The visible text."""
        return str(self.body["content"])

    @property
    def reply_to(self) -> str | None:
        """The message that it replies to, if that exists."""
        reference = self.body.get("message_reference")
        return None if reference is None else str(reference["message_id"])


@dataclass(slots=True)
class Interaction:
    """A slash command or a button used by a person."""

    id: str
    token: str
    channel: str
    acknowledged: list[int] = field(default_factory=list)
    """Type of each acknowledgement."""
    original: str | None = None
    """The message with the pending sign, and then with the answer."""
    is_known: bool = True
    """False after a quarter of an hour, when Discord forgets it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=dict)
    upload: bytes | None = None

    @property
    def steps(self) -> list[str]:
        """The method and the components of the path."""
        return [self.method, *map(unquote, self.path.strip("/").split("/"))]


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a call."""

    content: object = None
    status: int = 200


NO_CONTENT = Answer(status=204)


def refusal(status: int, words: str, code: int) -> Answer:
    """Return Discord's error answer."""
    return Answer({"message": words, "code": code}, status)


class DiscordApi(ABC):
    """A server with a channel and a thread, a direct chat, messages, commands and files."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.problems: list[str] = []
        """Faults found in request bodies."""
        self.interactions: dict[str, Interaction] = {}
        """By their tokens."""
        self.commands: list[Json] = []
        self.application: Json = dict(APPLICATION)
        self.files: dict[str, bytes] = {}
        """Content of the file server, by path."""
        self.channels: dict[str, Json] = {
            CHANNEL: {"id": CHANNEL, "type": 0, "guild_id": GUILD, "name": "general"},
            THREAD: {"id": THREAD, "type": 11, "guild_id": GUILD, "parent_id": CHANNEL, "name": "a thread"},
            DIRECT: {"id": DIRECT, "type": 1, "recipients": [user(PERSON)]},
        }
        self.closed_channels: set[str] = set()
        self.members: dict[str, Json] = {PERSON: {"nick": "Nick", "roles": ["77"], "user": user(PERSON)}}
        self._messages: dict[str, Json] = {}
        self._nonces: dict[tuple[str, str], Posted] = {}
        self._next_id = int(datetime.now(UTC).timestamp() * 1000 - _EPOCH_MS) << 22

    @abstractmethod
    def dispatch(self, name: str, data: Json) -> None:
        """Send an event to the bot."""

    @abstractmethod
    def notify(self) -> None:
        """Wake all waiters for a change."""

    # --- people's actions

    def says(self, text: str, channel: str = DIRECT, person: str = PERSON, **extra: Any) -> str:
        """Write as a person, once the bot is online; mentions are marked as on Discord. Returns the id."""
        said: Json = message(self.new_id(), channel, user(person), text)
        said["mentions"] = [user(BOT_ID, is_bot=True)] if f"<@{BOT_ID}>" in text else []
        if "guild_id" in self.channels.get(channel, {}):
            said |= {"guild_id": GUILD, "member": {"nick": None, "roles": []}}
        self._messages[said["id"]] = said | extra
        self.dispatch("MESSAGE_CREATE", said | extra)
        return str(said["id"])

    def wrote(self, text: str, channel: str, at: datetime, *, is_ours: bool = False) -> None:
        """Add a past message of a person, or of the bot."""
        number, author = str(int(at.timestamp() * 1000 - _EPOCH_MS) << 22), user(BOT_ID if is_ours else PERSON)
        self._messages[number] = message(number, channel, author, text) | {"timestamp": at.isoformat()}

    def deletes(self, message_id: str) -> None:
        """Delete a person's message."""
        deleted = self._messages.pop(message_id)
        self.dispatch("MESSAGE_DELETE", {"id": message_id, "channel_id": deleted["channel_id"]})

    def changes(self, message_id: str, text: str, edited: datetime) -> None:
        """Edit a person's message."""
        self._messages[message_id] |= {"content": text, "edited_timestamp": edited.isoformat()}
        self.dispatch("MESSAGE_UPDATE", dict(self._messages[message_id]))

    def gives(self, name: str, arguments: str = "", channel: str = DIRECT, person: str = PERSON) -> Interaction:
        """Give a slash command as a person."""
        options = [{"type": 3, "name": "arguments", "value": arguments}] if arguments else []
        return self._interact(_SLASH, {"id": "900", "type": 1, "name": name, "options": options}, channel, person)

    def presses(self, command: str, message_id: str, person: str = PERSON) -> Interaction:
        """Press, as a person, the button with *command* below a message."""
        below = self._messages[message_id]
        data = {"custom_id": command, "component_type": 2}
        return self._interact(_COMPONENT, data, below["channel_id"], person, message=below)

    def attach(self, name: str, content: bytes, mime: str = "text/plain", **more: Any) -> Json:
        """Put a file on the file server, and return its description in a message."""
        number = self.new_id()
        path = f"attachments/1/{number}/{name}"
        self.files[path] = content
        url = f"{self.cdn_url}/{path}?ex=1&hm=a-signature"
        return {"id": number, "filename": name, "size": len(content), "content_type": mime, "url": url} | more

    @property
    def cdn_url(self) -> str:
        """Address of the file server."""
        return "http://127.0.0.1"

    def _interact(self, kind: int, data: Json, channel: str, person: str, **more: Any) -> Interaction:
        number = self.new_id()
        made = Interaction(number, f"interaction-token-of-{number}", channel)
        self.interactions[made.token] = made
        told: Json = {"id": number, "application_id": BOT_ID, "type": kind, "token": made.token, "version": 1}
        told |= {"data": data, "channel_id": channel, "channel": self.channels[channel], **more}
        if "guild_id" in self.channels[channel]:
            member = {"user": user(person), "nick": None, "roles": ["77"]}
            told |= {"guild_id": GUILD, "member": member, "context": 0}
        else:
            told |= {"user": user(person), "context": 1}
        self.dispatch("INTERACTION_CREATE", told)
        return made

    # --- API

    def call(self, asked: Request) -> Answer:
        """Execute a request."""
        self.problems += problems_of(asked.method, asked.path, asked.body)
        match asked.steps:
            case ["GET", *_] if asked.path in self._known:
                return Answer(self._known[asked.path])
            case [_, "channels", channel, *_] if channel in self.closed_channels:
                return refusal(403, "Missing Access", 50001)
            case ["POST", "channels", channel, "typing"] if channel in self.channels:
                return NO_CONTENT
            case [_, "channels", channel, "messages", *rest] if channel in self.channels:
                return self._in_channel(asked, channel, rest)
        return self._by_application(asked)

    def _by_application(self, asked: Request) -> Answer:
        match asked.steps:
            case ["POST", "users", "@me", "channels"]:
                return self._open(str(asked.body["recipient_id"]))
            case ["PUT", "applications", _, "commands"]:
                self.commands = [{"id": self.new_id(), "version": "1", **command} for command in asked.body]
                return Answer(self.commands)
            case ["POST", "interactions", _, token, "callback"]:
                return self._acknowledge(self.interactions.get(token), asked.body["type"])
            case ["PATCH", "webhooks", _, token, "messages", "@original"]:
                return self._answer(self.interactions.get(token), asked)
        return refusal(404, "Unknown Channel", 10003)

    @property
    def _known(self) -> dict[str, object]:
        channels = {f"/channels/{number}": channel for number, channel in self.channels.items()}
        return {
            "/users/@me": user(BOT_ID, is_bot=True),
            "/oauth2/applications/@me": self.application,
            "/applications/@me": self.application,
            f"/applications/{BOT_ID}/commands": self.commands,
            f"/guilds/{GUILD}/roles": ROLES,
            **{f"/guilds/{GUILD}/members/{number}": member for number, member in self.members.items()},
            **channels,
        }

    def _in_channel(self, asked: Request, channel: str, rest: list[str]) -> Answer:
        match [asked.method, *rest]:
            case ["POST"]:
                return self._create(channel, asked)
            case ["GET"]:
                return Answer(self._history(channel, asked.query))
            case [_, number, *_] if number not in self._messages:
                return refusal(404, "Unknown Message", 10008)
            case ["GET", number]:
                return Answer(self._messages[number])
            case [_, number, "reactions", emoji, "@me"]:
                self._sign(number, emoji, is_put=asked.method == "PUT")
                return NO_CONTENT
        return refusal(405, "405: Method Not Allowed", 0)

    def _open(self, person: str) -> Answer:
        direct = (each for each in self.channels.values() if each["type"] == 1)
        found = next((each for each in direct if each["recipients"][0]["id"] == person), None)
        return Answer(found) if found else refusal(400, "Cannot send messages to this user", 50007)

    def _history(self, channel: str, query: Mapping[str, str]) -> list[Json]:
        """Return the newest messages first, without fields that only events have, as Discord does."""
        after, before = int(query.get("after", 0)), int(query.get("before", 1 << 63))
        here = [each for each in self._messages.values() if each["channel_id"] == channel]
        told = sorted((each for each in here if after < int(each["id"]) < before), key=lambda each: -int(each["id"]))
        limit = int(query["limit"])
        page = told[-limit:] if "after" in query else told[:limit]
        return [{name: value for name, value in each.items() if name not in {"guild_id", "member"}} for each in page]

    def _sign(self, number: str, emoji: str, *, is_put: bool) -> None:
        others = [each for each in self._messages[number].get("reactions", []) if each["emoji"]["name"] != emoji]
        ours = [{"emoji": {"id": None, "name": emoji}, "me": True, "count": 1}] if is_put else []
        self._messages[number]["reactions"] = others + ours
        self.notify()

    def newest_in(self, channel: str) -> str | None:
        """Id of the newest message there."""
        return max((each["id"] for each in self._messages.values() if each["channel_id"] == channel), default=None)

    def message(self, message_id: str) -> Json:
        """Discord's data of a message; a test may change it."""
        return self._messages[message_id]

    def signs(self, message_id: str) -> list[str]:
        """The bot's reactions to a message."""
        return [each["emoji"]["name"] for each in self._messages[message_id].get("reactions", [])]

    def _create(self, channel: str, asked: Request) -> Answer:
        body, text = asked.body, asked.body.get("content", "")
        if refused := _unfit(asked):
            return refused
        reference = body.get("message_reference")
        if reference and self._messages.get(str(reference["message_id"]), {}).get("channel_id") != channel:
            if reference.get("fail_if_not_exists", True):
                return refusal(400, "Unknown message", 50035)
            body = {name: value for name, value in body.items() if name != "message_reference"}
        key = (channel, str(body.get("nonce", "")))
        posted = self._nonces.get(key) if body.get("enforce_nonce") else None
        if posted is None:
            posted = Posted(self.new_id(), channel, body, asked.upload)
            self._nonces[key] = posted
            self.posted.append(posted)
            self._show(posted.id, channel, text)
        return Answer(self._messages[posted.id])

    def _show(self, number: str, channel: str, text: str, **more: Any) -> None:
        shown = message(number, channel, user(BOT_ID, is_bot=True), text) | more
        self._messages[number] = shown
        self.notify()
        self.dispatch("MESSAGE_CREATE", dict(shown))

    def _acknowledge(self, asked: Interaction | None, kind: int) -> Answer:
        if asked is None or not asked.is_known:
            return refusal(404, "Unknown interaction", 10062)
        if asked.acknowledged:
            return refusal(400, "Interaction has already been acknowledged.", 40060)
        asked.acknowledged.append(kind)
        if kind == 5:
            asked.original = self.new_id()
            more = {"type": 20, "flags": LOADING, "interaction_metadata": {"id": asked.id, "type": _SLASH}}
            self._show(asked.original, asked.channel, "", **more)
        self.notify()
        return NO_CONTENT

    def _answer(self, command: Interaction | None, asked: Request) -> Answer:
        if command is None or not command.is_known:
            return refusal(401, "Invalid Webhook Token", 50027)
        if command.original is None:
            return refusal(404, "Unknown Webhook", 10015)
        if refused := _unfit(asked):
            return refused
        body, shown = asked.body, self._messages[command.original]
        shown |= {
            "content": body["content"].strip(),
            "flags": body["flags"],
            "edited_timestamp": datetime.now(UTC).isoformat(),
        }
        self.posted = [posted for posted in self.posted if posted.id != command.original]
        self.posted.append(Posted(command.original, command.channel, body, asked.upload))
        self.notify()
        self.dispatch("MESSAGE_UPDATE", dict(shown))
        return Answer(shown)

    def new_id(self) -> str:
        """Return a new id; as on Discord, it contains the time."""
        self._next_id += 1
        return str(self._next_id)


def _unfit(asked: Request) -> Answer | None:
    text = asked.body.get("content", "")
    if not text.strip() and asked.upload is None:
        return refusal(400, "Cannot send an empty message", 50006)
    return refusal(400, "Invalid Form Body", 50035) if len(text) > LIMIT else None
