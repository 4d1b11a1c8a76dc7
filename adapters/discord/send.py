"""Sending to Discord, which supports a nonce: the same key sent twice within some minutes is one message.

The answer to a slash command replaces Discord's pending sign. That is an edit, so a retry changes nothing. When the
command has expired, after a quarter of an hour, its answer is sent as an ordinary message.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from discord import HTTPException
from discord.http import Route

from adapters.channel import Address, Body, Button, OutboundMessage, Sent, Upload
from adapters.discord.calls import DiscordCalls, channel_number, number
from adapters.discord.faults import CALL_FAULTS
from adapters.discord.interactions import Deferred
from adapters.discord.wire import PostedMessage

UPLOAD_LIMIT = 10_000_000
"""Bytes of a file that every server accepts, slightly less than Discord's 10 MiB."""

_SUPPRESS_EMBEDS = 4
_NO_LONGER_KNOWN = frozenset({401, 404})
"""HTTP statuses of a call with a command's token that has expired or was never acknowledged."""
_LOOKED_AT = 20
"""Number of messages after a command that are searched for its answer."""
_ROW = 5
_LONGEST_LABEL = 80
_UNFIT = str.maketrans(dict.fromkeys(('"', "\\", *map(chr, range(32)), "\x7f"), "_"))
"""Characters that would end a file's name in the header of its request part."""


class DiscordSender:
    """Sends messages of one bot."""

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls
        self._opened: dict[str, int] = {}
        """The chats that were opened, by their people: the owner's."""

    async def send(self, message: OutboundMessage) -> Sent:
        """Send *message* without pings and link previews. Raises ChannelError."""
        command = Deferred.of(message.reply_to)
        if command is None:
            return await self._create(message)
        answered = await self._answer(command, message) or await self._standing(command, message)
        return answered or await self._create(message)

    async def _create(self, message: OutboundMessage) -> Sent:
        channel = await self._channel(message.address)
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel)
        nonce = {"nonce": nonce_of(message.key), "enforce_nonce": True}
        content = shown(message.body, message.buttons) | nonce | _reference(message, channel)
        return await self._sent(route, content, message.body.upload)

    async def _channel(self, address: Address) -> int:
        """Return the channel to write into; `@<id>` is the direct chat with that person, opened if necessary."""
        person = address.chat.removeprefix("@")
        if person == address.chat:
            return channel_number(address)
        if person not in self._opened:
            content = {"recipient_id": str(number(person))}
            try:
                found = await self._calls.make(Route("POST", "/users/@me/channels"), json=content)
                self._opened[person] = int(found["id"])
            except CALL_FAULTS as fault:
                raise self._calls.faults.of_send(fault) from None
        return self._opened[person]

    async def _answer(self, command: Deferred, message: OutboundMessage) -> Sent | None:
        """Put *message* in place of the pending sign of *command*; `None` if that has expired."""
        route = Route(
            "PATCH",
            "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
            webhook_id=await self._calls.application_id(),
            webhook_token=command.token,
        )
        try:
            return await self._sent(route, shown(message.body, message.buttons), message.body.upload)
        except _NoLongerKnownError:
            return None

    async def _sent(self, route: Route, content: dict[str, Any], upload: Upload | None) -> Sent:
        try:
            return Sent(str((await self._calls.make(route, **_multipart_body(content, upload)))["id"]))
        except CALL_FAULTS as fault:
            is_by_token = route.webhook_token is not None
            if is_by_token and isinstance(fault, HTTPException) and fault.status in _NO_LONGER_KNOWN:
                raise _NoLongerKnownError from None
            raise self._calls.faults.of_send(fault) from None

    async def _standing(self, command: Deferred, message: OutboundMessage) -> Sent | None:
        """Return the existing answer to *command*: an earlier attempt may have ended unsure."""
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=channel_number(message.address))
        later = {"after": command.id, "limit": str(_LOOKED_AT)}
        for found in await self._calls.read(list[PostedMessage], route, params=later) or []:
            is_answer = found.interaction_metadata is not None and found.interaction_metadata.id == command.id
            if is_answer and found.content.strip() == message.body.text.strip():  # Discord trims message text
                return Sent(found.id)
        return None


class _NoLongerKnownError(Exception):
    """The slash command has expired at Discord."""


def nonce_of(key: str) -> str:
    """Return *key* as a nonce: Discord's limit is 25 characters, and keys may be longer."""
    return hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


def shown(body: Body, buttons: Sequence[Button]) -> dict[str, Any]:
    """Return the content of a new or edited message, without pings and link previews."""
    content = {
        "content": body.text,
        "allowed_mentions": {"parse": []},
        "flags": _SUPPRESS_EMBEDS,
        "components": _rows(buttons),
    }
    return content | ({"attachments": [{"id": "0", "filename": _name(body.upload)}]} if body.upload else {})


def _rows(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    cells = [
        {"type": 2, "style": 2, "label": button.label[:_LONGEST_LABEL], "custom_id": button.command}
        for button in buttons
    ]
    return [{"type": 1, "components": cells[begin : begin + _ROW]} for begin in range(0, len(cells), _ROW)]


def _reference(message: OutboundMessage, channel: int) -> dict[str, Any]:
    """Reply so that a missing target leaves a plain message; an expired command is no target."""
    if message.reply_to is None or Deferred.of(message.reply_to):
        return {}
    target = {"message_id": str(number(message.reply_to)), "channel_id": str(channel)}
    return {"message_reference": target | {"fail_if_not_exists": False}}


def _multipart_body(content: dict[str, Any], upload: Upload | None) -> dict[str, Any]:
    """Return *content* for the SDK, as a multipart body if there is a file."""
    if upload is None:
        return {"json": content}
    plain = {"name": "payload_json", "value": json.dumps(content)}
    file = {"name": "files[0]", "value": upload.content, "filename": _name(upload)}
    return {"form": [plain, file | {"content_type": "application/octet-stream"}]}


def _name(upload: Upload) -> str:
    return upload.name.translate(_UNFIT) or "file"
