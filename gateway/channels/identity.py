"""Asks a chat platform whose a bot token is, before anything is written; plain requests, as SDKs load slowly."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx2
from msgspec import Struct

from gateway.errors import ConfigError, StrandlineError

PATIENCE_S = 15.0
"""Seconds that a platform may take to answer; our choice."""
POLL_S = 20
"""How long Telegram holds an empty poll open."""
AGAIN_S = 1.0
"""Pause while the messages that wait were written by people who are not meant."""
_DISCORD_MAY_READ = 1 << 18 | 1 << 19
"""Application flags for reading message content, as in `adapters.discord.examine`."""
_INVITE = "https://discord.com/oauth2/authorize?client_id={id}&scope=bot+applications.commands&permissions=274878008384"
MISSING_INTENT = (
    "it may not read messages yet: in the Developer Portal, under Bot, turn on MESSAGE CONTENT INTENT; until then it "
    "does not connect"
)
PRIVACY_MODE = (
    "privacy mode is on: in groups it sees only messages that mention it; to change that, send /setprivacy to "
    "@BotFather, choose Disable, then remove it from the group and invite it again"
)


class PersonIdentity(Struct, frozen=True):
    id: str
    name: str


class BotIdentity(Struct, frozen=True):
    """A bot by its platform's own account."""

    name: str
    handle: str
    """How people address it, such as `@nia_bot`."""
    owner: PersonIdentity | None = None
    """The person to whom the platform says it belongs."""
    hints: tuple[str, ...] = ()
    """What its setup lacks, with the remedy."""
    invite: str = ""
    """Address that adds it to a server."""
    start: str = ""
    """Address that opens a chat with it and sends it the code put at the end."""


async def telegram_identity(base_url: str, token: str) -> BotIdentity:
    """Return what Telegram says of the bot. Raises ConfigError for a wrong token, StrandlineError for an outage."""
    async with _client(base_url, "Telegram") as client:
        me = _telegram_result(await client.get(f"/bot{token}/getMe"))
    hints = () if me.get("can_read_all_group_messages") else (PRIVACY_MODE,)
    user = str(me.get("username", ""))
    return BotIdentity(str(me.get("first_name", "")), f"@{user}", hints=hints, start=f"https://t.me/{user}?start=")


async def telegram_people(base_url: str, token: str, patience_s: float) -> AsyncIterator[PersonIdentity]:
    """Yield each person who writes to the bot directly, as messages arrive, for *patience_s* at most.

    No message is confirmed: the gateway gets all of them afterwards. Raises StrandlineError.
    """
    seen, until = set[str](), time.monotonic() + patience_s
    async with _client(base_url, "Telegram") as client:
        while (left := until - time.monotonic()) > 0:
            asked = {"timeout": max(1, int(min(POLL_S, left))), "allowed_updates": ["message"]}
            for update in _telegram_result(await client.post(f"/bot{token}/getUpdates", json=asked)):
                person = _writer(update)
                if person is not None and person.id not in seen:
                    seen.add(person.id)
                    yield person
            await asyncio.sleep(AGAIN_S if seen else 0)


async def discord_identity(base_url: str, token: str) -> BotIdentity:
    """Return what Discord says of the bot. Raises ConfigError for a wrong token, StrandlineError for an outage."""
    headers = {"Authorization": f"Bot {token}"}
    async with _client(base_url, "Discord") as client:
        me = _discord_result(await client.get("/users/@me", headers=headers))
        application = _discord_result(await client.get("/applications/@me", headers=headers))
    owner = application.get("owner") or {}
    person = PersonIdentity(str(owner["id"]), _discord_name(owner)) if owner.get("id") else None
    hints = () if int(application.get("flags", 0)) & _DISCORD_MAY_READ else (MISSING_INTENT,)
    name = _discord_name(me)
    return BotIdentity(name, f"@{name}", person, hints, _INVITE.format(id=application.get("id", "")))


@asynccontextmanager
async def _client(base_url: str, platform: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client whose failures are ours; their own text may quote the address, and so the token."""
    try:
        async with httpx2.AsyncClient(base_url=base_url, timeout=PATIENCE_S + POLL_S) as client:
            yield client
    except httpx2.HTTPError as exc:
        raise StrandlineError(
            f"{platform} cannot be reached ({type(exc).__name__}); check this machine's network, then try again"
        ) from None


def _telegram_result(answer: httpx2.Response) -> Any:
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
        raise ConfigError(
            f"Telegram rejects this token (HTTP {answer.status_code}): copy it again from @BotFather; nothing was "
            "stored"
        )
    body = _json(answer, "Telegram")
    if answer.status_code == HTTPStatus.CONFLICT:
        raise StrandlineError("another program receives this bot's messages (HTTP 409): stop it, then try again")
    if not body.get("ok"):
        raise StrandlineError(f"Telegram answers HTTP {answer.status_code}; try again in a minute")
    return body["result"]


def _discord_result(answer: httpx2.Response) -> Any:
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise ConfigError(
            "Discord rejects this token (HTTP 401): in the Developer Portal, under Bot, choose Reset Token and copy it "
            "again; nothing was stored"
        )
    if answer.is_error:
        raise StrandlineError(f"Discord answers HTTP {answer.status_code}; try again in a minute")
    return _json(answer, "Discord")


def _json(answer: httpx2.Response, platform: str) -> Any:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise StrandlineError(f"{platform}'s answer (HTTP {answer.status_code}) cannot be read; is base_url right?")
    return body


def _writer(update: Any) -> PersonIdentity | None:
    """Return the person who wrote a direct message."""
    message = update.get("message") or {}
    sender = message.get("from") or {}
    if (message.get("chat") or {}).get("type") != "private" or sender.get("is_bot") or "id" not in sender:
        return None
    name = " ".join(str(sender.get(key, "")) for key in ("first_name", "last_name")).strip()
    return PersonIdentity(str(sender["id"]), name)


def _discord_name(user: Any) -> str:
    return str(user.get("global_name") or user.get("username") or "")
