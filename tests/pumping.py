"""Inputs that make a pattern go back over what it read, and how its time grows with their length."""

import importlib
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from types import FrameType
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_names: Any = importlib.import_module("re._constants")

SIZES = 10_000, 20_000, 40_000
_FIRST_LOOK = 500, 2_000
_SUSPICIOUS_S, _SUSPICIOUS_GROWTH = 0.0002, 7.0
"""What is looked at more closely: a quadratic pattern takes 16 times as long for four times the input, and some
2 ms of the processor for 2,000 characters."""
MOST_GROWTH = 2.9
"""Twice the input takes twice as long where time is linear, four times where it is quadratic."""
CAP_S = 3.0
"""A single call that takes longer is stopped; a linear one takes 0.4 at most, at 40,000 characters."""

_CLASSES = {"CATEGORY_SPACE": " \n", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "a\x00"}
_PLAIN = ("a", "1", " ", "\n", "-", "\x00")
"""What a text may hold of which a pattern says nothing."""
_ENDS = ("", "\x00")
_MOST_OF_A_SET = 8
_MOST_CHARACTERS = 8
"""Of one pattern that are combined in pairs, those that its repetitions read first."""


class _TooLongError(Exception):
    """A call took longer than `CAP_S`."""


@dataclass(frozen=True, slots=True)
class Pump:
    """A text of any length: *knot* over and over, then *other*, between a beginning and an end."""

    before: str
    knot: str
    after: str
    other: str = ""

    def text(self, size: int) -> str:
        """Return it with some *size* characters."""
        size //= 2 if self.other else 1
        other = self.other * (size // len(self.other)) if self.other else ""
        return self.before + self.knot * (size // len(self.knot)) + other + self.after


def pumps(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[Pump]:
    """Return the inputs that *pattern* may read slowly: all that it mentions, repeated, in pairs, failing at last."""
    tree = _tree(pattern)
    repeated = list(_repetitions(tree, ""))
    characters = list(dict.fromkeys([*"".join(body for _, body in repeated), *_PLAIN, *_characters(tree)]))[:18]
    frequent = characters[:_MOST_CHARACTERS]
    pairs = [(one, other) for one, other in product(frequent, repeat=2) if one != other]
    units = [*characters, *(f"{one}{other}" for one, other in pairs)]
    plain = [Pump("", unit, end) for unit in units for end in _ENDS]
    triples = [Pump("", f"{one}{other}{other}", "\x00") for one, other in pairs]
    starts = list(dict.fromkeys(start for start, _ in repeated if start))
    deep = [Pump(start, unit, "\x00") for start, unit in product(starts[:4], characters)]
    bodies = [Pump(start, body, end) for start, body in repeated for end in _ENDS if body]
    whole = [Pump("", sample, end) for sample in {sample_of(tree), *starts} for end in _ENDS if sample]
    parts = list(dict.fromkeys(body for _, body in repeated if body))[:6]
    halves = [Pump("", one, "\x00", other) for one, other in product(parts, repeat=2) if one != other]
    return list(dict.fromkeys([*bodies, *halves, *whole, *deep, *plain, *triples]))


def sample_of(tree: Any) -> str:
    """Return a short text that *tree*, of Python's own parser, is likely to match."""
    return "".join(_sample(kind, value) for kind, value in tree)


def grows(work: Callable[[str], object], pump: Pump, sizes: tuple[int, int, int] = SIZES) -> bool:
    """Tell whether *work* takes more than linear time: in three measurements out of three, since noise only adds."""
    try:
        if not _is_suspicious(work, pump):
            return False
        small, middle, large = map(pump.text, sizes)
        return all(_has_grown(work, small, middle) and _has_grown(work, middle, large) for _ in range(3))
    except _TooLongError:
        return True


def _is_suspicious(work: Callable[[str], object], pump: Pump) -> bool:
    small, large = map(pump.text, _FIRST_LOOK)
    taken = _seconds(work, large)
    return taken > _SUSPICIOUS_S and taken > _SUSPICIOUS_GROWTH * min(_seconds(work, small) for _ in range(2))


def _has_grown(work: Callable[[str], object], text: str, twice_as_long: str) -> bool:
    return _seconds(work, twice_as_long) > MOST_GROWTH * _seconds(work, text)


def _seconds(work: Callable[[str], object], text: str) -> float:
    with _capped():
        before = time.thread_time()
        work(text)
        return time.thread_time() - before


@contextmanager
def _capped() -> Iterator[None]:
    """Stop what takes more processor time than `CAP_S`; the engine of `re` looks for signals while it searches."""
    earlier = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CAP_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, earlier)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooLongError


def _tree(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Any:
    source = pattern.pattern
    return _parser.parse(source if isinstance(source, str) else source.decode("latin-1"), pattern.flags & ~re.UNICODE)


def _repetitions(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield what *tree* repeats without a low bound, each with a text that leads there."""
    for kind, value in tree:
        if str(kind).endswith("_REPEAT"):
            _, most, body = value
            if most is _names.MAXREPEAT or most > 9:
                yield before, sample_of(body)
                yield from ((before, each) for each in _characters(body))
        for inner in _inner(kind, value):
            yield from _repetitions(inner, before)
        before += _sample(kind, value)


def _characters(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if str(kind) in {"LITERAL", "NOT_LITERAL", "IN", "ANY"}:
            yield from _members(kind, value)
        for inner in _inner(kind, value):
            yield from _characters(inner)


def _inner(kind: Any, value: Any) -> list[Any]:
    name = str(kind)
    if name.endswith("_REPEAT"):
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    if name in {"ASSERT", "ASSERT_NOT"}:
        return [value[1]]
    return [value] if name == "ATOMIC_GROUP" else []


def _members(kind: Any, value: Any) -> list[str]:
    name = str(kind)
    if name == "LITERAL":
        return [chr(value)]
    if name == "IN":
        return _of_set(value)
    if name == "NOT_LITERAL":
        return ["b" if value == ord("a") else "a", chr(value)]
    return ["a"] if name == "ANY" else []


def _of_set(items: Any) -> list[str]:
    found = []
    is_negated = str(items[0][0]) == "NEGATE"
    for kind, value in items:
        if str(kind) == "LITERAL":
            found.append(chr(value))
        elif str(kind) == "RANGE":
            found.append(chr(value[0]))
        elif str(kind) == "CATEGORY":
            found += _CLASSES.get(str(value), "-")
    found = found[:_MOST_OF_A_SET]
    outside = [each for each in ("a", "1", "-", " ", "é") if each not in found]
    return [*outside[:1], *found] if is_negated else found


def _sample(kind: Any, value: Any) -> str:
    name = str(kind)
    if name.endswith("_REPEAT"):
        least, _, body = value
        return sample_of(body) * int(least)
    if name in {"SUBPATTERN", "ATOMIC_GROUP"}:
        return sample_of(value[3] if name == "SUBPATTERN" else value)
    if name == "BRANCH":
        return sample_of(value[1][0])
    return next(iter(_members(kind, value)), "")
