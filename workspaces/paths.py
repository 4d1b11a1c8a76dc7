"""Validation of workspace paths: a text becomes a path inside the workspace, or a clear refusal."""

import unicodedata
from functools import lru_cache
from pathlib import PurePosixPath

from workspaces.errors import BadPathError
from workspaces.lazy_pattern import lazy_pattern
from workspaces.normal_form import normal_form

COMPONENT_BYTES = 255
"""Longest name of one file or folder; the limit of Linux and macOS."""
DEPTH = 16
"""Most components of a path."""

KNOWN_PATHS = 16_384
"""Paths of which a function remembers its answer: a walk asks for the same ones each time, some megabytes of them."""

OWN_PREFIX = ".strandline-"
"""Prefix of our own names (files being written); they are neither read, written nor listed."""

_USUAL = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_ .-]{0,200}")
"""Common names that need no closer look: a walk meets thousands of them."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = lazy_pattern("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Characters ignored by some file systems in comparisons of names."""


@lru_cache(maxsize=512)  # a turn asks for the same dozen files several times
def clean_path(text: str) -> PurePosixPath:
    """Return *text* as a relative path without `.` components; the workspace itself is the path without components.

    Raises BadPathError, which depends on *text* alone and so reveals nothing about existing files.
    """
    _refuse_characters(text)
    if text.startswith("/"):
        raise BadPathError(f"{_quoted(text)} is absolute; paths are relative to the workspace")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if len(parts) > DEPTH:
        raise BadPathError(f"{_quoted(text)} is {len(parts)} levels deep; at most {DEPTH} are allowed")
    for part in parts:
        _refuse_component(part, text)
    return PurePosixPath(*parts)


@lru_cache(KNOWN_PATHS)
def below(folder: PurePosixPath, name: str) -> PurePosixPath:
    """Return the path of *name* in *folder*: joining them takes as long as two system calls."""
    return folder / name


def is_taken(name: str) -> bool:
    """Tell whether `clean_path` would accept *name*, as found on disk, as a component."""
    if _USUAL.fullmatch(name):
        return True
    try:
        return clean_path(name).parts == (name,)
    except BadPathError:
        return False


def fold(name: str) -> str:
    """Return the key under which names that differ only in letter case or Unicode normal form are equal."""
    return name.lower() if name.isascii() else normal_form("NFC", normal_form("NFD", name).casefold())


def _refuse_characters(text: str) -> None:
    if not text:
        raise BadPathError("the path is empty; '.' is the workspace itself")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise BadPathError(f"{_quoted(text)} is not valid Unicode")
    if "\\" in text:
        raise BadPathError(f"{_quoted(text)} holds a backslash; folders are separated by '/'")
    for char in text:
        if char in _BIDI or unicodedata.category(char) in {"Cc", "Zl", "Zp"}:
            raise BadPathError(f"{_quoted(text)} holds the control character U+{ord(char):04X}")


def _refuse_component(part: str, text: str) -> None:
    if part == "..":
        raise BadPathError(f"{_quoted(text)} leads upwards; '..' is not allowed")
    if len(part.encode()) > COMPONENT_BYTES:
        raise BadPathError(f"{_quoted(text)}: a name is longer than {COMPONENT_BYTES} bytes")
    if fold(_INVISIBLE.sub("", part)) == ".git":
        raise BadPathError(f"{_quoted(text)}: files under .git are not accessible")
    if fold(part).startswith(OWN_PREFIX):
        raise BadPathError(f"{_quoted(text)}: names that begin with {OWN_PREFIX} are reserved")


def _quoted(text: str) -> str:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return ascii(shown) if not shown.isprintable() else repr(shown)
