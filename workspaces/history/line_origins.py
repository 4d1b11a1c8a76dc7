"""Which lines of an agent's files hold other people's words, derived from the trailers of the history.

A line is known by its text, wherever it stands: moving, indenting or listing it changes nothing. Lines that a turn adds
after it has read others' words are others'; so are the lines with which it replaces such a line, and the names of
files that it creates. The owner's own edit or approval makes a line, and its file's name, theirs. A line that no commit
with a trailer has written is of unknown origin.
"""

import struct
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from workspaces.access import PRIVATE, Scope, scope_of
from workspaces.history.line_changes import FileChanges, Patch, ReplacedLines
from workspaces.history.messages import EDITOR_SESSION, OWNERS_COMMANDS, OWNERS_PAGE, Origin
from workspaces.house import HouseFolders
from workspaces.lazy_pattern import lazy_pattern

_MARKS = lazy_pattern(r"(?:[\s>#*+\-•|]++|\d{1,3}[.)]\s)*+")
"""What may precede the same words in another place: list and heading marks, quotation, a diff's own sign."""
_AFTER_NAME = lazy_pattern(r"(?: \([\d,]+ bytes\)|/)$")
"""What a listing puts after a file's name."""
_LEAST = 3
"""Letters, or different signs, of a line that says something: "---", "ok" and the heading of a day are nobody's."""
_MOST_DIGITS = 24
"""Of a line that says nothing: more than a date, a time or a number has, and less than a sentence in numbers."""
_LETTER = lazy_pattern(r"[^\W\d_]")
_SIGN = lazy_pattern(r"[^\w\s!-/:-@\[-`{-~\u2010-\u205e\u2500-\u259f]")
"""Neither punctuation nor a drawn line: a model reads enclosed letters, braille and invisible tags too."""
_DIGIT = lazy_pattern(r"\d")
_WORD_LETTER = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts in which one or two are a word."""
_USUAL_PLACES = frozenset({"memory", "memory.md", "memory/shared", "skills", "attachments"})
"""Files and folders, case-folded, whose names nobody chose."""
_MAGIC = b"strandline origins 6\n"
_HEAD_LENGTH = 40


class LineOrigin(StrEnum):
    """Where the words of a line come from."""

    OWN = "own"
    """The owner wrote or approved it, or a turn that had read nobody else's words."""
    OTHERS = "others"
    """A turn wrote it that had read others' words."""
    UNKNOWN = "unknown"
    """No trailer tells: imported, from before trailers, or changed while no gateway watched."""


class LineOrigins:
    """The origins of all lines of one agent, 8 bytes a line. The methods may be called on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._house: set[Scope] = set()
        """The scopes of files that have, or once had, the mark `house`."""
        self._others: set[int] = set()
        self._own: set[int] = set()
        self._unknown: set[int] = set()
        self.head = ""
        """The newest commit that is included; empty before any."""
        self.is_loaded = False
        """Whether the history has been read: until then, any line may be others'."""

    def origin_of(self, line: str) -> LineOrigin:
        """Return the origin of *line*; a line without words is nobody's, which counts as own."""
        key = line_key(line)
        with self._lock:
            if key is None or key in self._own:
                return LineOrigin.OWN
            return LineOrigin.OTHERS if key in self._others else LineOrigin.UNKNOWN

    def others_in(self, text: str) -> list[int]:
        """Return the lines of *text*, from 1, that hold others' words."""
        if not self._others:
            return []
        keys = list(_numbered_keys(text.splitlines()))
        with self._lock:
            return [number for number, key in keys if key in self._others]

    def others_in_file(self, path: PurePosixPath, text: str) -> Sequence[int]:
        """Return the same of the file at *path* with the content *text*: all of them if others chose its name.

        Whoever is shown one of its lines is shown the name too.
        """
        return range(1, text.count("\n") + 2) if self._are_others(path) else self.others_in(text)

    def names_others(self, path: PurePosixPath) -> bool:
        """Return whether others chose the name of the file at *path*, or of a folder above it, or may have."""
        return not self.is_loaded or self._are_others(path)

    def _are_others(self, path: PurePosixPath) -> bool:
        with self._lock:
            return any(key in self._others for key in _name_keys(path))

    def holds_others(self, text: str) -> bool:
        """Return whether a line of *text* holds others' words, or may while the history is still being read."""
        return not self.is_loaded or bool(self.others_in(text))

    def held_house(self, scopes: frozenset[Scope] | None) -> bool:
        """Return whether a version of a file of *scopes*, or of all, carries the mark `house`, or may."""
        with self._lock:
            return not self.is_loaded or any(scopes is None or each in scopes for each in self._house)

    def learn(self, changes: FileChanges, origin: Origin | None, house: HouseFolders = HouseFolders()) -> None:  # noqa: B008  # frozen
        """Take in what *origin* did to a file; `None` is unknown, and never makes a line anybody's.

        Who repeats a line that was there before adds nothing: it keeps its origin, unless the owner writes or approves
        it; bringing it back is neither. Notes that others read are left out: all of their lines are others', by their
        place. Files in *house* have that mark.
        """
        scope = scope_of(changes.path)
        if scope not in self._house and (house.hold(changes.path) or changes.may_mark):
            with self._lock:
                self._house.add(scope)
        if scope != PRIVATE:
            return
        names = changes.path.parts if changes.is_new else ()
        by_owner = origin is not None and is_owners(origin) and origin.undoes is None
        chosen = {*_name_keys(changes.path)} if changes.is_new or by_owner else set[int]()
        stayed = _keys(line for hunk in changes.hunks for line in hunk.removed)  # moved, or with another line ending
        with self._lock:
            for hunk in changes.hunks or [ReplacedLines((), ())]:
                added, removed = _keys((*hunk.added, *names)) | chosen, _keys(hunk.removed)
                replaced = bool(removed & self._others)
                fresh = added - self._others - self._own - self._unknown
                if by_owner:
                    written = added - stayed
                    self._others -= written
                    self._unknown -= written
                    self._own |= written
                elif (origin is not None and origin.others) or replaced:
                    self._others |= fresh
                elif origin is not None and origin.others is not None:
                    self._own |= fresh
                else:
                    self._unknown |= fresh

    def read(self, patches: Iterable[Patch], house: HouseFolders = HouseFolders()) -> None:  # noqa: B008  # frozen
        """Take in commits, oldest first."""
        for patch in patches:
            origin = patch.origin
            for file in patch.files():
                self.learn(file, origin, house)
            self.head = patch.commit

    def complete(self) -> None:
        """Record that the whole history has been read."""
        self.is_loaded = True

    def forget(self) -> None:
        """Drop everything: the history was rewritten, or is no longer this one."""
        with self._lock:
            self._others, self._own, self._unknown, self.head = set(), set(), set(), ""
            self._house = set()

    def save(self, place: Path) -> None:
        """Write the origins to *place*, whole or not at all; they can always be derived anew. Raises OSError."""
        with self._lock:
            sets = [array("Q", sorted(each)).tobytes() for each in (self._others, self._own, self._unknown)]
            body = struct.pack("<III", *map(len, sets)) + b"".join(sets) + "\n".join(self._house).encode()
            data = _MAGIC + self.head.encode().ljust(_HEAD_LENGTH) + body
        data += blake2b(data, digest_size=16).digest()
        staged = place.with_name(f"{place.name}.new")
        staged.touch(mode=0o600)
        staged.write_bytes(data)
        staged.replace(place)

    def load(self, place: Path) -> bool:
        """Read what `save` wrote; return `False`, and change nothing, for a missing or damaged file."""
        try:
            data = place.read_bytes()
        except OSError:
            return False
        body, digest = data[:-16], data[-16:]
        if not body.startswith(_MAGIC) or blake2b(body, digest_size=16).digest() != digest:
            return False
        head, rest = body[len(_MAGIC) :][:_HEAD_LENGTH], body[len(_MAGIC) + _HEAD_LENGTH :]
        sizes, start, sets = struct.unpack_from("<III", rest), struct.calcsize("<III"), list[set[int]]()
        for size in sizes:
            sets.append({*array("Q", rest[start : start + size])})
            start += size
        with self._lock:
            self._others, self._own, self._unknown = sets
            self._house = {*map(Scope, rest[start:].decode().splitlines())}
            self.head = head.decode().strip()
        return True


def saved_beside(git_dir: Path) -> Path:
    """Return the file that keeps the origins of the history in *git_dir*."""
    return git_dir.with_name(f"{git_dir.name}.origins")


def changes_of(path: PurePosixPath, before: bytes | None, after: bytes | None) -> FileChanges:
    """Return the change from *before* to *after* as one hunk, without the lines that both have around it."""
    old, new = ((data or b"").decode(errors="replace").splitlines() for data in (before, after))
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - start
    ends = zip(reversed(old), reversed(new), strict=False)
    same = next((i for i, (a, b) in enumerate(ends) if a != b or i == rest), rest)
    gone, come = old[start : len(old) - same], new[start : len(new) - same]
    left, right = {*gone}, {*come}
    hunk = ReplacedLines([line for line in gone if line not in right], [line for line in come if line not in left])
    return FileChanges(path, before is None and after is not None, [hunk])


def _keys(lines: Iterable[str]) -> set[int]:
    """Return the keys of *lines*, which are split as readers of the text split them."""
    return {key for _, key in _numbered_keys(part for line in lines for part in line.splitlines())}


def _name_keys(path: PurePosixPath) -> Iterator[int]:
    """Yield the keys of *path* and of the folders above it whose names say something; no line has the same."""
    for place in (path, *path.parents):
        if str(place).casefold() not in _USUAL_PLACES and line_key(place.name) is not None:
            yield _key_of(f"\0{str(place).casefold()}")


def _numbered_keys(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the number of each line, from 1, with its key.

    One with too few letters has a key together with the one before it that has too few: words may be written downwards.
    So has one of numbers alone, with the one of numbers before it.
    """
    before = {True: "", False: ""}
    for number, line in enumerate(lines, 1):
        words = _words_of(line)
        if _says_something(words):
            yield number, _key_of(words)
        elif (is_lettered := bool(_LETTER.search(words) or _SIGN.search(words))) or _DIGIT.search(words):
            if before[is_lettered]:
                yield number, _key_of(f"{before[is_lettered]}\n{words}")
            before[is_lettered] = words


def is_owners(origin: Origin) -> bool:
    """Return whether the owner made or approved the change of *origin*; an import brings others' words along."""
    is_by_hand = origin.session in {EDITOR_SESSION, OWNERS_COMMANDS, OWNERS_PAGE} and not origin.others
    return origin.approved_by is not None or is_by_hand


def line_key(line: str) -> int | None:
    """Return a number for the words of *line*; `None` if it has none."""
    words = _words_of(line)
    return _key_of(words) if _says_something(words) else None


def _words_of(line: str) -> str:
    begun = _MARKS.match(line)
    words = line[begun.end() if begun else 0 :].rstrip()
    return " ".join(_AFTER_NAME.sub("", words).split()).casefold()


def _says_something(words: str) -> bool:
    if len(_LETTER.findall(words)) >= _LEAST or _WORD_LETTER.search(words):
        return True
    return len({*_SIGN.findall(words)}) >= _LEAST or len(_DIGIT.findall(words)) > _MOST_DIGITS


def _key_of(words: str) -> int:
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest())
