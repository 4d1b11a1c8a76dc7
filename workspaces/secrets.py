"""Redaction of known secrets from every text that is stored, indexed, sent, shown or logged.

Known secrets belong to the process, not to an object: texts leave through functions that are called from everywhere
(the codecs of the store and the transcripts, the opener of files), and a constructor without its redactor would be a
leak that no test sees.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import is_
from typing import TypeVar, cast
from urllib.parse import quote, quote_plus
from weakref import WeakValueDictionary

from workspaces.records import field_names, is_constant, with_fields

T = TypeVar("T")

REMOVED = "[secret removed]"
SHORTEST = 8
"""Shorter secrets, in characters, are not redacted: they would black out ordinary words."""
SHORTEST_NUMBER = 12
SHORTEST_WORD = 16
"""The same for digits alone and for lower-case letters alone: a year and a day, `telegram` or `password` cannot be told
from ordinary text.
"""
_ALPHABETS = (base64.b64encode, base64.urlsafe_b64encode)


class Redactor:
    """Replaces every occurrence of its secrets: plain, and as encoded in JSON, HTML, URLs and base64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {form for secret in secrets if is_guarded(secret) for form in forms_of(secret)}
        forms = sorted(found, key=len, reverse=True)
        self._needles = [form for form in forms if not any(other in form for other in forms if other != form)]
        """A text that contains any form contains one of these."""
        self._pattern = re.compile("|".join(map(re.escape, forms)))
        self._begins = frozenset(form[:length] for form in forms for length in range(1, len(form)))
        self._longest = max(map(len, forms), default=0)
        self._shortest = min(map(len, forms), default=0)

    def finds(self, text: str) -> bool:
        """Tell whether *text* contains a secret."""
        return len(text) >= self._shortest and any(map(text.__contains__, self._needles))

    def __call__(self, text: str) -> str:
        """Return *text* without any of the secrets."""
        return self._pattern.sub(REMOVED, text) if self.finds(text) else text

    def end_of(self, text: str) -> int:
        """Return the number of characters at the end of *text* that may begin a secret."""
        lengths = range(min(self._longest - 1, len(text)), 0, -1)
        return next((length for length in lengths if text[-length:] in self._begins), 0)


class Sieve:
    """Redacts a streamed text: an end that may begin a secret waits for the next piece."""

    def __init__(self) -> None:
        self._held = ""

    def __call__(self, piece: str) -> str:
        """Take *piece* and return the text that may be shown now."""
        text = _known.redactor(self._held + piece)
        begin = len(text) - _known.redactor.end_of(text)
        self._held = text[begin:]
        return text[:begin]


class _KnownSecrets:
    """Known secrets of this process."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, ...]] = []
        self.redactor = Redactor(())
        self.clean = WeakValueDictionary[int, object]()
        """Members of lists without a secret, by id: a conversation's next request holds most of its entries again."""

    def changed(self) -> None:
        """Rebuild the redactor."""
        self.clean.clear()
        self.redactor = Redactor({secret for group in self.groups for secret in group})


_known = _KnownSecrets()


@contextmanager
def guarding(secrets: Iterable[str]) -> Iterator[None]:
    """Redact *secrets* in `redact` and related functions while the block runs."""
    group = tuple(secrets)
    _known.groups.append(group)
    _known.changed()
    try:
        yield
    finally:
        _known.groups.remove(group)
        _known.changed()


def redact(text: str) -> str:
    """Return *text* without any known secret."""
    return _known.redactor(text)


def redact_bytes(data: bytes) -> bytes:
    """Return *data* without any known secret, if it is UTF-8 text; other data is returned unchanged."""
    if b"\0" in data:
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return data if (clean := redact(text)) == text else clean.encode()


def holds_secret(text: str) -> bool:
    """Tell whether *text* contains a known secret."""
    return _known.redactor.finds(text)


def redact_all(value: T) -> T:
    """Return *value* with every text in it redacted, in lists, mappings and dataclasses too; itself if none changes.

    A `StrEnum` is one of a few known words and stays.
    """
    return cast("T", _redact_value(value))


def _redact_value(value: object) -> object:
    match value:
        case str():
            return redact(value) if type(value) is str else value
        case tuple() | list():
            members = [_redact_member(each) for each in value]
            return value if all(map(is_, value, members)) else type(value)(members)
        case dict():
            pairs = {name: _redact_value(each) for name, each in value.items()}
            return value if all(map(is_, value.values(), pairs.values())) else pairs
        case _ if names := field_names(type(value)):
            parts = ((name, getattr(value, name)) for name in names)
            other = {name: new for name, part in parts if (new := _redact_value(part)) is not part}
            return with_fields(value, other) if other else value
        case _:
            return value


def _redact_member(value: object) -> object:
    if _known.clean.get(id(value)) is value:
        return value
    clean = _redact_value(value)
    if clean is value and is_constant(value):
        _known.clean[id(value)] = value
    return clean


def is_guarded(secret: str) -> bool:
    """Tell whether *secret* is long enough to be distinctive."""
    if secret.isdecimal():
        return len(secret) >= SHORTEST_NUMBER
    return len(secret) >= (SHORTEST_WORD if secret.isalpha() and secret.islower() else SHORTEST)


def forms_of(secret: str) -> set[str]:
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    forms = {secret, html.escape(secret), *escaped, *quoted, *map(_small_hex, quoted)}
    forms |= {form.replace("/", "\\/") for form in escaped} | {json.dumps(form)[1:-1] for form in escaped}
    return forms | set(_in_base64(secret.encode("utf-8", "surrogatepass")))


def _small_hex(quoted: str) -> str:
    """Return a URL's text with its escapes in lower case."""
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the base64 of *secret* alone, and the part of it that is the same at any offset in longer base64."""
    for encode in _ALPHABETS:
        yield encode(secret).decode().rstrip("=")
        for before in range(3):
            text = encode(bytes(before) + secret).decode()
            yield text[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
