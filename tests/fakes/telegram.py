"""This file is what Telegram knows of one bot: it keeps what Telegram keeps and refuses what Telegram refuses."""

import asyncio
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

BOT = {"id": 123456, "is_bot": True, "first_name": "Strand", "username": "strand_bot"}
TEXT_LIMIT = 4096
GENERAL_TOPIC = 1
_MARKS = ((r"(?<!\w)@\w{4,}", "mention"), (r"(?<![\w/])/\w+(?:@\w+)?", "bot_command"))


@dataclass(frozen=True, slots=True)
class Fault:
    """What one request meets instead of an answer; a request that it *accepts* has its effect before."""

    method: str = "sendMessage"
    status: int = 200
    description: str = ""
    parameters: Json = field(default_factory=dict)
    """The `parameters` of Telegram's error object, such as `retry_after`."""
    body: str | None = None
    """Sent as an HTML page instead of Telegram's JSON."""
    location: str | None = None
    """Where to redirect to; `{token}` stands for the bot's."""
    accepts: bool = False
    drops: bool = False
    """The connection is reset and nothing comes back."""
    hangs: bool = False
    """Nothing comes back until the client goes away."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call of the Bot API."""

    method: str
    params: Json
    at: float


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that Telegram took from the bot and shows to people."""

    chat: int
    thread: int | None
    text: str
    entities: list[Json]
    reply_to: int | None
    message_id: int
    at: float


class RefusedError(Exception):
    """Telegram's error answer."""

    def __init__(self, status: int, description: str) -> None:
        super().__init__(description)
        self.status = status


def utf16_length(text: str) -> int:
    """Count as Telegram does."""
    return len(text.encode("utf-16-le")) // 2


class Telegram:
    """What Telegram knows; may be told things from any thread."""

    def __init__(self, first_update_id: int = 700_000, record: Path | None = None) -> None:
        self.updates: deque[Json] = deque()
        self.confirmed: list[int] = []
        self.requests: list[Request] = []
        self.sent: list[SentMessage] = []
        self.chats: dict[int, set[int]] = {}
        """Message ids by chat: of its messages, and of those that began a topic."""
        self.blocked: set[int] = set()
        self.webhook = ""
        self.commands: list[Json] = []
        self.faults: list[Fault] = []
        self._next_update_id = first_update_id
        self._message_ids: Counter[int] = Counter()
        self._allowed: list[str] | None = None
        self._poll = 0
        self._lock = threading.RLock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._record = record

    # What a test tells it.

    def says(
        self, chat: int, text: str, *, user_id: int | None = None, chat_type: str = "private", **extra: Any
    ) -> Json:
        """A person writes; mentions and commands are marked as Telegram marks them. *extra* goes into the message."""
        with self._change():
            person = chat if user_id is None else user_id
            message: Json = {
                "message_id": self._next_message_id(chat),
                "date": int(time.time()),
                "chat": {"id": chat, "type": chat_type},
                "from": {"id": person, "is_bot": False, "first_name": f"Person {person}"},
                "text": text,
            }
            if marks := list(_marks(text)):
                message["entities"] = marks
            return self.update(message={**message, **extra})

    def update(self, **content: Json) -> Json:
        """Something happens: `update(message={...})`, `update(edited_message={...})`."""
        with self._change():
            update = {"update_id": self._next_update_id, **content}
            self._next_update_id += 1
            self.updates.append(update)
            return update

    def restart_ids(self, at: int) -> None:
        """Go on with lower update ids, as Telegram may after a week without updates."""
        with self._change():
            self._next_update_id = at

    def fault(self, *faults: Fault) -> None:
        """Meet the next requests of each fault's method with it, one request a fault."""
        with self._change():
            self.faults.extend(faults)

    def join(self, chat: int, *topics: int) -> None:
        """Let *chat* exist without a message, with these topics."""
        with self._change():
            self.chats.setdefault(chat, set()).update(topics)

    async def until(self, is_so: Callable[[], bool], timeout_s: float = 10) -> None:
        """Wait until *is_so*; looked at after every change. Raises TimeoutError."""
        entry = asyncio.get_running_loop(), asyncio.Event()
        self._waiting.add(entry)
        try:
            async with asyncio.timeout(timeout_s):
                while not is_so():
                    await entry[1].wait()
                    entry[1].clear()
        finally:
            self._waiting.discard(entry)

    async def wait_for_sent(self, number: int, timeout_s: float = 10) -> list[SentMessage]:
        """Wait until the bot has sent so many messages in all. Raises TimeoutError."""
        await self.until(lambda: len(self.sent) >= number, timeout_s)
        return self.sent

    async def wait_for_polls(self, number: int, timeout_s: float = 10) -> None:
        """Wait until so many polls in all have come. Raises TimeoutError."""
        await self.until(lambda: len(self.calls("getUpdates")) >= number, timeout_s)

    def calls(self, method: str) -> list[Json]:
        """The parameters of all calls of *method*, oldest first."""
        return [request.params for request in self.requests if request.method == method]

    # What the bot asks.

    async def call(self, method: str, params: Json) -> Any:
        """Answer the Bot API's *method*. Raises RefusedError."""
        match method:
            case "getMe":
                return BOT
            case "getUpdates":
                return await self._get_updates(params)
            case "sendMessage":
                return self._send_message(params)
            case "sendChatAction":
                self._check_chat(params)
                return True
            case "deleteWebhook":
                self.webhook = ""
                return True
            case "setMyCommands":
                self.commands = params["commands"]
                return True
        raise RefusedError(404, "Not Found: method not found")

    async def _get_updates(self, params: Json) -> list[Json]:
        if self.webhook:
            said = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            raise RefusedError(409, f"Conflict: {said}")
        with self._change():
            self._poll = poll = self._poll + 1
            self._allowed = params.get("allowed_updates", self._allowed)
            self._confirm(int(params.get("offset", 0)))
        try:
            await self.until(lambda: bool(self._open_updates()) or self._poll != poll, float(params.get("timeout", 0)))
        except TimeoutError:
            return []
        if self._poll != poll:
            said = "terminated by other getUpdates request; make sure that only one bot instance is running"
            raise RefusedError(409, f"Conflict: {said}")
        return self._open_updates()[: int(params.get("limit", 100))]

    def _open_updates(self) -> list[Json]:
        """Kinds that were not asked for are never kept."""
        if self._allowed:
            kept = [update for update in self.updates if set(update) & set(self._allowed)]
            self.updates = deque(kept)
        return list(self.updates)

    def _confirm(self, offset: int) -> None:
        """Forget everything below *offset*; one far in the future tells nothing (as in TDLib's TQueue)."""
        if offset > self._next_update_id + 10:
            return
        while self.updates and self.updates[0]["update_id"] < offset:
            update_id = self.updates.popleft()["update_id"]
            self.confirmed.append(update_id)
            self._write("confirmed", {"update_id": update_id})

    def _send_message(self, params: Json) -> Json:
        chat, text = self._check_chat(params), params.get("text", "")
        self._check_text(text, params.get("entities", []))
        reply_to = self._reply_target(chat, params.get("reply_parameters"))
        with self._change():
            thread = params.get("message_thread_id")
            message = SentMessage(
                chat,
                thread and int(thread),
                text,
                params.get("entities", []),
                reply_to,
                self._next_message_id(chat),
                time.time(),
            )
            self.sent.append(message)
            self._write("sent", asdict(message))
        kind = "private" if chat > 0 else "supergroup"
        return {
            "message_id": message.message_id,
            "date": int(message.at),
            "chat": {"id": chat, "type": kind},
            "from": BOT,
            "text": text,
        }

    def _check_chat(self, params: Json) -> int:
        chat = int(params["chat_id"])
        if chat not in self.chats:
            raise RefusedError(400, "Bad Request: chat not found")
        if chat in self.blocked:
            raise RefusedError(403, "Forbidden: bot was blocked by the user")
        thread = int(params.get("message_thread_id", 0))
        if "text" in params and (thread == GENERAL_TOPIC or (thread and thread not in self.chats[chat])):
            raise RefusedError(400, "Bad Request: message thread not found")
        return chat

    def _check_text(self, text: str, entities: list[Json]) -> None:
        if not text.strip():
            raise RefusedError(400, "Bad Request: message text is empty")
        if utf16_length(text) > TEXT_LIMIT:
            raise RefusedError(400, "Bad Request: message is too long")
        units = text.encode("utf-16-le")
        for entity in entities:
            start, end = entity["offset"], entity["offset"] + entity["length"]
            if not 0 <= start < end <= len(units) // 2 or _splits_pair(units, start) or _splits_pair(units, end):
                raise RefusedError(400, "Bad Request: can't parse entities: entity bounds are wrong")

    def _reply_target(self, chat: int, reply: Json | None) -> int | None:
        if reply is None:
            return None
        if reply["message_id"] in self.chats[chat]:
            return int(reply["message_id"])
        if reply.get("allow_sending_without_reply"):
            return None
        raise RefusedError(400, "Bad Request: message to be replied not found")

    def _next_message_id(self, chat: int) -> int:
        self._message_ids[chat] += 1
        self.chats.setdefault(chat, set()).add(self._message_ids[chat])
        return self._message_ids[chat]

    # Keeping track.

    def note(self, method: str, params: Json) -> Fault | None:
        """Record a request; return the fault that it is to meet."""
        with self._change():
            self.requests.append(Request(method, params, time.time()))
            self._write("request", {"method": method, "params": params})
            found = next((fault for fault in self.faults if fault.method == method), None)
            if found:
                self.faults.remove(found)
            return found

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._lock:
            yield
            for loop, changed in tuple(self._waiting):
                loop.call_soon_threadsafe(changed.set)

    def _write(self, kind: str, what: Json) -> None:
        if self._record is not None:
            with self._record.open("a", encoding="utf-8") as record:
                record.write(json.dumps({"kind": kind, "at": time.time(), **what}, ensure_ascii=False) + "\n")


def _marks(text: str) -> Iterator[Json]:
    for pattern, kind in _MARKS:
        for found in re.finditer(pattern, text):
            yield {"type": kind, "offset": utf16_length(text[: found.start()]), "length": utf16_length(found.group())}


def _splits_pair(units: bytes, at: int) -> bool:
    return 0 < at < len(units) // 2 and 0xDC00 <= int.from_bytes(units[2 * at : 2 * at + 2], "little") < 0xE000
