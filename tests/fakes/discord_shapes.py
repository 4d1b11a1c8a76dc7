"""Shapes of the payloads of `tests.fakes.discord`, and checks of the requests to it."""

import functools
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

Json = dict[str, Any]

TOKEN = "MTAw.loopback.bot-token"
BOT_ID, BOT_ROLE = "100", "101"
GUILD, CHANNEL, THREAD, PERSON = "200", "300", "400", "42"
DIRECT = "500"
LIMIT = 2000
MESSAGE_CONTENT = 1 << 15
SCHEMA_FILE = Path(__file__).parents[3] / "shared" / "data" / "discord-openapi.json"
_MENTIONS_NOBODY: Json = {"parse": []}
_SHOWS = re.compile(r"(POST /channels/[0-9]+/messages|PATCH /webhooks/[0-9]+/[^/]+/messages/@original)")
"""Requests with a body visible to people."""


def problems_of(method: str, path: str, body: object) -> Iterator[str]:
    """Yield the faults in a request's body, by Discord's schema and by our safety rules."""
    validator = _validator(method, path)
    if validator is not None:
        yield from (f"{path}{error.json_path[1:]}: {error.message[:200]}" for error in validator.iter_errors(body))
    if _SHOWS.fullmatch(f"{method} {path}") and isinstance(body, dict):
        if body.get("allowed_mentions") != _MENTIONS_NOBODY:
            yield "somebody may be pinged"
        if not body.get("flags", 0) & 4:
            yield "links are shown with a preview"
        if method == "POST" and not (body.get("enforce_nonce") and body.get("nonce")):
            yield "a second try would come twice"


@functools.cache
def _schema() -> Json:
    return dict(json.loads(SCHEMA_FILE.read_text("utf-8"))) if SCHEMA_FILE.exists() else {"paths": {}}


@functools.cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Discord's paths, those with the fewest placeholders first."""
    paths = sorted(_schema()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in paths]


def _validator(method: str, path: str) -> Draft202012Validator | None:
    template = next((template for pattern, template in _templates() if pattern.fullmatch(path)), None)
    return _validator_of(method.lower(), template) if template else None


@functools.cache
def _validator_of(method: str, template: str) -> Draft202012Validator | None:
    if "requestBody" not in _schema()["paths"][template].get(method, {}):
        return None
    place = template.replace("~", "~0").replace("/", "~1")
    ref = f"#/paths/{place}/{method}/requestBody/content/application~1json/schema"
    return Draft202012Validator({**_schema(), "$ref": ref})


def user(user_id: str, *, is_bot: bool = False) -> Json:
    """Return a user in Discord's form."""
    name = "strand" if is_bot else f"person{user_id}"
    return {"id": user_id, "username": name, "discriminator": "0", "global_name": None, "avatar": None, "bot": is_bot}


APPLICATION: Json = {
    "id": BOT_ID,
    "name": "Strand",
    "icon": None,
    "description": "",
    "bot_public": False,
    "bot_require_code_grant": False,
    "owner": user(PERSON),
    "summary": "",
    "verify_key": "00",
    "team": None,
    "flags": 0,
}


def role(role_id: str, *, is_bots: bool = False) -> Json:
    """Return a role in Discord's form."""
    return {"id": role_id, "name": f"role{role_id}"} | ({"tags": {"bot_id": BOT_ID}} if is_bots else {})


ROLES = [role(GUILD), role(BOT_ROLE, is_bots=True)]


def message(message_id: str, channel: str, author: Json, text: str) -> Json:
    """Return a message in Discord's form."""
    empty: Json = {"mentions": [], "mention_roles": [], "attachments": [], "embeds": []}
    return {
        **empty,
        "id": message_id,
        "channel_id": channel,
        "author": author,
        "content": text,
        "timestamp": datetime.now(UTC).isoformat(),
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "pinned": False,
        "type": 0,
        "flags": 0,
    }
