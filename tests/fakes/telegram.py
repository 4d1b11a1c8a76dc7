"""Telegram's state for one bot: it keeps and refuses the same things as Telegram."""

import asyncio
import json
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fakes.patience import PATIENCE_S
from tests.fakes.telegram_shapes import (
    BOT,
    CAPTION_LIMIT,
    GENERAL_TOPIC,
    ME,
    TEXT_LIMIT,
    Fault,
    Hook,
    Json,
    RefusedError,
    Request,
    SentMessage,
    marks,
    splits_pair,
    type_of,
    utf16_length,
)

__all__ = ["BOT", "Fault", "Json", "RefusedError", "Request", "SentMessage", "Telegram", "utf16_length"]


class Telegram:
    """Telegram's state; may be changed from any thread."""

    def __init__(self, first_update_id: int = 700_000, record: Path | None = None) -> None:
        self.updates: deque[Json] = deque()
        self.confirmed: list[int] = []
        self.requests: list[Request] = []
        self.sent: list[SentMessage] = []
        self.chats: dict[int, set[int]] = {}
        """Message ids by chat: of its messages, and of those that began a topic."""
        self.blocked: set[int] = set()
        self.me = ME
        self.status_in: defaultdict[int, str] = defaultdict(lambda: "member")
        """The bot's status in each chat."""
        self.hook: Hook | None = None
        self.hook_errors: list[str] = []
        """Errors of the last deliveries of updates, newest last."""
        self.menus: dict[str, list[Json]] = {}
        """Commands by scope: the scope's type, and its chat if any."""
        self.files: dict[str, bytes] = {}
        """By `file_id`; contains only files of the bot."""
        self.migrated: dict[int, int] = {}
        """Groups that became supergroups: old id → new id."""
        self.acknowledged: list[str] = []
        """Button presses answered by the bot."""
        self.reactions: dict[tuple[int, int], list[str]] = {}
        self.drafts: list[Json] = []
        self.faults: list[Fault] = []
        self._next_update_id = first_update_id
        self._message_ids: Counter[int] = Counter()
        self._allowed: list[str] | None = None
        self._poll = 0
        self._lock = threading.RLock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._record = record

    # --- control by tests

    def says(
        self,
        chat: int,
        text: str,
        *,
        user_id: int | None = None,
        chat_type: str = "private",
        title: str = "",
        **extra: Any,
    ) -> Json:
        """Write as a person; mentions and commands are marked as on Telegram. *extra* is added to the message."""
        with self._change():
            person = chat if user_id is None else user_id
            message: Json = {
                "message_id": self._next_message_id(chat),
                "date": int(time.time()),
                "chat": {"id": chat, "type": chat_type} | ({"title": title} if title else {}),
                "from": {"id": person, "is_bot": False, "first_name": f"Person {person}"},
                "text": text,
            }
            if found := list(marks(text)):
                message["entities"] = found
            return self.update(message={**message, **extra})

    def adds_bot(self, chat: int, title: str, person: int) -> Json:
        """Add the bot to a group, as a person."""
        self.join(chat)
        return self.update(
            my_chat_member={
                "chat": {"id": chat, "title": title, "type": "supergroup"},
                "from": {"id": person, "is_bot": False, "first_name": f"Person {person}"},
                "date": int(time.time()),
                "old_chat_member": {"status": "left", "user": BOT},
                "new_chat_member": {"status": "member", "user": BOT},
            }
        )

    def update(self, **content: Json) -> Json:
        """Add an update: `update(message={...})`, `update(edited_message={...})`."""
        with self._change():
            update = {"update_id": self._next_update_id, **content}
            self._next_update_id += 1
            self.updates.append(update)
            return update

    def edits(self, message: Json, text: str, at: int) -> Json:
        """Edit *message* as its author."""
        return self.update(edited_message={**message, "text": text, "edit_date": at})

    def presses(self, chat: int, message_id: int, command: str, *, user_id: int | None = None) -> Json:
        """Press, as a person, a button below one of the bot's messages."""
        person = chat if user_id is None else user_id
        message = {"message_id": message_id, "date": 1, "chat": {"id": chat, "type": type_of(chat)}, "from": BOT}
        return self.update(
            callback_query={
                "id": f"press{self._next_update_id}",
                "from": {"id": person, "is_bot": False, "first_name": f"Person {person}"},
                "chat_instance": "1",
                "message": {**message, "text": "?"},
                "data": command,
            }
        )

    def migrate(self, chat: int, now: int) -> None:
        """Turn a group into a supergroup, without notice to the bot until it sends there."""
        with self._change():
            self.chats.setdefault(now, set())
            self.migrated[chat] = now

    def restart_ids(self, at: int) -> None:
        """Continue with lower update ids, as Telegram may after a week without updates."""
        with self._change():
            self._next_update_id = at

    def fault(self, *faults: Fault) -> None:
        """Answer the next requests of each fault's method with it, one request per fault."""
        with self._change():
            self.faults.extend(faults)

    def join(self, chat: int, *topics: int) -> None:
        """Create *chat* without a message, with these topics."""
        with self._change():
            self.chats.setdefault(chat, set()).update(topics)

    async def until(self, is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Wait until *is_so*, checked after every change. Raises TimeoutError."""
        entry = asyncio.get_running_loop(), asyncio.Event()
        self._waiting.add(entry)
        try:
            async with asyncio.timeout(timeout_s):
                while not is_so():
                    await entry[1].wait()
                    entry[1].clear()
        finally:
            self._waiting.discard(entry)

    async def wait_for_sent(self, number: int, timeout_s: float = PATIENCE_S) -> list[SentMessage]:
        """Wait until the bot has sent this number of messages in total. Raises TimeoutError."""
        await self.until(lambda: len(self.sent) >= number, timeout_s)
        return self.sent

    async def wait_for_polls(self, number: int, timeout_s: float = PATIENCE_S) -> None:
        """Wait until this number of polls has arrived in total. Raises TimeoutError."""
        await self.until(lambda: len(self.calls("getUpdates")) >= number, timeout_s)

    def calls(self, method: str) -> list[Json]:
        """The parameters of all calls of *method*, oldest first."""
        return [request.params for request in self.requests if request.method == method]

    # --- calls by the bot

    async def call(self, method: str, params: Json) -> Any:
        """Answer the Bot API's *method*. Raises RefusedError."""
        match method:
            case "getMe" | "getChatMember":
                return self.me if method == "getMe" else self._member(self._check_chat(params))
            case "getUpdates":
                return await self._get_updates(params)
            case "sendMessage" | "sendDocument" | "sendPhoto":
                return self._send(method, params)
            case "getFile":
                return self._file(params["file_id"])
            case "setWebhook" | "deleteWebhook" | "getWebhookInfo":
                return self._webhook(method, params)
        return self._sign(method, params)

    def _member(self, chat: int) -> Json:
        return {"status": self.status_in[chat], "user": BOT, "until_date": 0}

    def _sign(self, method: str, params: Json) -> bool:
        with self._change():
            match method:
                case "sendChatAction":
                    self._check_chat(params)
                case "setMyCommands":
                    scope = params.get("scope", {"type": "default"})
                    if "chat_id" in scope:
                        self._check_chat(scope)
                    self.menus[":".join(map(str, scope.values()))] = params["commands"]
                case "answerCallbackQuery":
                    self.acknowledged.append(params["callback_query_id"])
                case "setMessageReaction":
                    self._react(params)
                case "sendMessageDraft":
                    if self._check_chat(params) < 0:
                        raise RefusedError(400, "Bad Request: drafts are for private chats")
                    self.drafts.append(params)
                case _:
                    raise RefusedError(404, "Not Found: method not found")
        return True

    def _react(self, params: Json) -> None:
        chat, message_id = self._check_chat(params), int(params["message_id"])
        if message_id not in self.chats[chat]:
            raise RefusedError(400, "Bad Request: message to react not found")
        emoji = [reaction["emoji"] for reaction in params.get("reaction", [])]
        if "🥨" in emoji:
            raise RefusedError(400, "Bad Request: REACTION_INVALID")
        self.reactions[chat, message_id] = emoji

    def _file(self, file_id: str) -> Json:
        if file_id not in self.files:
            raise RefusedError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[file_id])
        return {"file_id": file_id, "file_unique_id": "u", "file_size": size, "file_path": f"documents/{file_id}"}

    def _webhook(self, method: str, params: Json) -> Any:
        with self._change():
            if method == "setWebhook":
                allowed, connections = params.get("allowed_updates", []), int(params.get("max_connections", 40))
                self.hook = Hook(params["url"], params.get("secret_token", ""), connections, allowed)
            if method == "deleteWebhook":
                self.hook = None
        if method != "getWebhookInfo":
            return True
        hook = self.hook or Hook("", "", 40, [])
        info: Json = {
            "url": hook.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates),
            "max_connections": hook.connections,
            "allowed_updates": hook.allowed,
        }
        if self.hook_errors:
            info |= {"last_error_date": len(self.hook_errors), "last_error_message": self.hook_errors[-1]}
        return info

    async def _get_updates(self, params: Json) -> list[Json]:
        if self.hook is not None:
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
        """Return open updates; kinds that were not requested are never kept."""
        if self._allowed:
            kept = [update for update in self.updates if set(update) & set(self._allowed)]
            self.updates = deque(kept)
        return list(self.updates)

    def brought(self, update: Json) -> None:
        """Forget *update*, which the bot's webhook accepted."""
        with self._change():
            self.updates.remove(update)
            self.confirmed.append(update["update_id"])
            self._write("confirmed", {"update_id": update["update_id"]})

    def not_brought(self, why: str) -> None:
        """Record the error of a delivery."""
        with self._change():
            self.hook_errors.append(why)

    def _confirm(self, offset: int) -> None:
        """Forget everything below *offset*; one far in the future has no effect (as in TDLib's TQueue)."""
        if offset > self._next_update_id + 10:
            return
        while self.updates and self.updates[0]["update_id"] < offset:
            update_id = self.updates.popleft()["update_id"]
            self.confirmed.append(update_id)
            self._write("confirmed", {"update_id": update_id})

    def _send(self, method: str, params: Json) -> Json:
        chat, is_text = self._check_chat(params), method == "sendMessage"
        text = params.get("text" if is_text else "caption", "")
        entities = params.get("entities" if is_text else "caption_entities", [])
        self._check_text(text, entities, TEXT_LIMIT if is_text else CAPTION_LIMIT, may_be_empty=not is_text)
        reply_to = self._reply_target(chat, params.get("reply_parameters"))
        with self._change():
            thread = params.get("message_thread_id")
            message = SentMessage(
                chat,
                thread and int(thread),
                text,
                entities,
                reply_to,
                self._next_message_id(chat),
                time.time(),
                None if is_text else self._uploaded(method, params),
                params.get("reply_markup", {}).get("inline_keyboard", []),
            )
            self.sent.append(message)
            self._write("sent", asdict(message))
        return {
            "message_id": message.message_id,
            "date": int(message.at),
            "chat": {"id": chat, "type": type_of(chat)},
            "from": BOT,
            "text": text,
        }

    def _uploaded(self, method: str, params: Json) -> Json:
        """Return the file of the request, as parsed by the server in front."""
        file = next(value for value in params.values() if isinstance(value, dict) and "size" in value)
        if method == "sendPhoto" and file["size"] < 10:
            raise RefusedError(400, "Bad Request: PHOTO_INVALID_DIMENSIONS")
        return {"method": method, **file}

    def _check_chat(self, params: Json) -> int:
        chat = int(params["chat_id"])
        if now := self.migrated.get(chat):
            said = "Bad Request: group chat was upgraded to a supergroup chat"
            raise RefusedError(400, said, {"migrate_to_chat_id": now})
        if chat not in self.chats:
            raise RefusedError(400, "Bad Request: chat not found")
        if chat in self.blocked:
            raise RefusedError(403, "Forbidden: bot was blocked by the user")
        thread = int(params.get("message_thread_id", 0))
        if "text" in params and (thread == GENERAL_TOPIC or (thread and thread not in self.chats[chat])):
            raise RefusedError(400, "Bad Request: message thread not found")
        return chat

    def _check_text(self, text: str, entities: list[Json], limit: int, *, may_be_empty: bool) -> None:
        if not text.strip() and not may_be_empty:
            raise RefusedError(400, "Bad Request: message text is empty")
        if utf16_length(text) > limit:
            raise RefusedError(400, "Bad Request: message is too long")
        units = text.encode("utf-16-le")
        for entity in entities:
            start, end = entity["offset"], entity["offset"] + entity["length"]
            if not 0 <= start < end <= len(units) // 2 or splits_pair(units, start) or splits_pair(units, end):
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

    # --- records

    def note(self, method: str, params: Json) -> Fault | None:
        """Record a request; return its fault, if any."""
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
