"""This file is the shape of what Discord says in `tests.fakes.discord`, and what it asks of what is said to it."""

import functools
import json
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
_CREATE = "#/paths/~1channels~1{channel_id}~1messages/post/requestBody/content/application~1json/schema"


def problems_of(body: Json) -> Iterator[str]:
    """Say what is wrong with the body of a message, by Discord's schema and by what safety asks for."""
    validator = _validator()
    if validator is not None:
        # The SDK writes the ids of a reference as numbers, which Discord takes as well.
        reference = {name: str(found) if name.endswith("_id") else found for name, found in _reference(body).items()}
        written = body | ({"message_reference": reference} if reference else {})
        yield from (f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(written))
    if body.get("allowed_mentions") != {"parse": []}:
        yield "somebody may be pinged"
    if not body.get("flags", 0) & 4:
        yield "links are shown with a preview"
    if not body.get("enforce_nonce"):
        yield "a second try would come twice"


def _reference(body: Json) -> Json:
    return body.get("message_reference") or {}


@functools.cache
def _validator() -> Draft202012Validator | None:
    if not SCHEMA_FILE.exists():
        return None
    return Draft202012Validator({**json.loads(SCHEMA_FILE.read_text("utf-8")), "$ref": _CREATE})


def user(user_id: str, *, is_bot: bool = False) -> Json:
    """Somebody as Discord tells of them."""
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


def message(message_id: str, channel: str, author: Json, text: str) -> Json:
    """A message as Discord tells of it."""
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
