"""Parser of `HEARTBEAT.md` and its due items: every decision of a heartbeat that needs no model.

Everything here is pure. Moments are in UTC; wall-clock times in items are in the owner's zone.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from msgspec import Struct, structs

from gateway.errors import ScheduleError
from gateway.schedule.recurrence import CLOCK, DAYS, At, Cron, Every, Schedule, on_days, read_schedule, slots_due
from gateway.schedule.settings import HeartbeatSettings
from workspaces.lazy_pattern import lazy_pattern

FILE = "HEARTBEAT.md"
HEARTBEAT_OK = "HEARTBEAT_OK"
"""A model's answer to a heartbeat without news for its owner (the reference system's word)."""
SILENT_WITH = 300
"""Most characters beside `HEARTBEAT_OK` with which an answer stays silent (the requirements' number)."""
MOST_CHARACTERS = 20_000
"""Characters of the file that are read: as much of it as a prompt shows at most."""
MOST_ITEMS = 100
"""Items of the file that are considered; our choice."""
LEAST_BETWEEN = timedelta(minutes=5)
"""Shortest interval between two heartbeats that ask a model, whatever the items say; our choice."""
GRACE = timedelta(hours=24)
"""Latest start of an item, after a night or an outage."""
BACK_OFF_FROM = 3
"""Consecutive failures from which on the time to the next try doubles."""
STOPS_AFTER = 5
"""Consecutive failures after which heartbeats stop until the owner starts them again."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""A Saturday's midnight: rounds and `every` count from here, so they need no stored state."""
_FIRST_TEMPLATE = "Each list item here is checked on every heartbeat. With no items, no model is called."
"""The template's earlier wording, before it showed the format: no items."""

_BOX = lazy_pattern(r"\s*[-*+]\s+\[(?P<tick>.?)\]\s*(?P<text>.*)")
_COMMENT = lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = lazy_pattern(r"^[^\S\n]*+(```|~~~).*?(?:^[^\S\n]*+\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
"""Neither end matches across a line's end: that would be quadratic in empty lines."""
_BLANK = lazy_pattern(r"\s*+(#{1,6}(\s.*)?|[-*+]|[-*_=]{3,})?\s*+")
_BEHIND = r"(?:\s*[:,–—]\s*|\s+|$)"
_ON_DAYS = lazy_pattern(rf"(?P<days>{DAYS})\s+{CLOCK}{_BEHIND}", re.IGNORECASE)
_ONCE = lazy_pattern(rf"(?:at\s+)?(?P<day>\d{{4}}-\d{{2}}-\d{{2}})(?:[ T](?P<clock>\d{{1,2}}:\d{{2}}))?{_BEHIND}")
_EVERY = lazy_pattern(
    rf"every\s+(?P<span>\d+\s*(?:d|h|m(?:in)?)\b(?:\s*\d+\s*(?:h|m(?:in)?)\b)*){_BEHIND}", re.IGNORECASE
)
_WATCH = lazy_pattern(r"when\s+`?(?P<path>[^\s`]+\.[A-Za-z0-9]+)`?\s+changes" + _BEHIND, re.IGNORECASE)
_SOUNDS_TIMED = lazy_pattern(
    rf"(?:{DAYS}\s+\d|daily\b|weekdays\b|every\s+\d|\d{{1,2}}:\d{{2}}|\d{{4}}-\d)", re.IGNORECASE
)
FORMS = '"daily 09:00", "Mon-Fri 08:30", "2026-12-01 10:00", "every 2h" or "when memory/projects.md changes"'


class Rhythm(Struct, frozen=True):
    """Schedule of an agent's heartbeats."""

    settings: HeartbeatSettings
    zone: tzinfo
    """The owner's."""
    times: int = 1
    """How many times longer than set the interval is."""

    @property
    def every(self) -> timedelta:
        """Interval between two rounds; zero for never."""
        return self.settings.interval * self.times

    @property
    def is_off(self) -> bool:
        """No heartbeat ever runs."""
        begin, end = self.settings.hours
        return begin == end or not self.settings.interval

    def is_active(self, now: datetime) -> bool:
        """Return whether a heartbeat may run at *now*."""
        clock, (begin, end) = now.astimezone(self.zone).time(), self.settings.hours
        if self.is_off:
            return False
        if begin < end:
            return begin <= clock < end
        return clock >= begin or clock < end

    def slowed(self, failures: int) -> "Rhythm":
        """Return the rhythm after so many consecutive failures: from the third on, the interval doubles for each."""
        return structs.replace(self, times=2 ** max(0, failures - BACK_OFF_FROM + 1))

    def rest(self, failures: int) -> timedelta:
        """Return the shortest time between two heartbeats after so many consecutive failures."""
        return self.slowed(failures).every if failures else LEAST_BETWEEN

    def round_after(self, moment: datetime) -> datetime:
        """Return the time of the next round, counted from a fixed moment: no restart shifts it."""
        return Every(self.every, _EPOCH).after(moment) or moment


class Watch(Struct, frozen=True):
    """Due when the file at *path* has changed."""

    path: str
    """Relative to the workspace."""


class Item(Struct, frozen=True):
    text: str
    when: Schedule | Watch | None = None
    """`None`: due at every round."""


class Checklist(Struct, frozen=True):
    """The content of `HEARTBEAT.md`."""

    items: tuple[Item, ...] = ()
    faults: tuple[str, ...] = ()
    """Items that are not valid as written, described for the owner."""
    is_prose: bool = False
    """There is no list: the whole text is one item, due at every round."""

    @property
    def watched(self) -> frozenset[str]:
        """The files that are watched for changes."""
        return frozenset(item.when.path for item in self.items if isinstance(item.when, Watch))


class DueItem(Struct, frozen=True):
    """An item whose time has come."""

    item: Item
    slot: datetime | None = None
    """Its time, if the item names one."""


def read_checklist(text: str, zone: tzinfo) -> Checklist:
    """Parse an owner's list: unchecked boxes, each perhaps with its time; else prose as one item.

    Headings, comments, code blocks and empty boxes are ignored. Beside boxes, prose is explanation.
    """
    faults = [f"only the first {MOST_CHARACTERS:,} characters are read"] if len(text) > MOST_CHARACTERS else []
    lines = _FENCE.sub("", _COMMENT.sub("", text[:MOST_CHARACTERS])).splitlines()
    if not any(map(_BOX.fullmatch, lines)):
        prose = "\n".join(line for line in lines if not _BLANK.fullmatch(line) and line.strip() != _FIRST_TEMPLATE)
        return Checklist((Item(prose),) if prose else (), tuple(faults), is_prose=bool(prose))
    items = list[Item]()
    for said in _open_items(lines):
        try:
            items.append(_item(said, zone))
        except ScheduleError as exc:
            faults.append(f"{said.splitlines()[0][:100]!r}: {exc}")
    if len(items) > MOST_ITEMS:
        faults.append(f"only the first {MOST_ITEMS} items are checked")
    return Checklist(tuple(items[:MOST_ITEMS]), tuple(faults))


def due_items(
    checklist: Checklist, since: datetime, now: datetime, changed: Collection[str], *, is_round: bool
) -> list[DueItem]:
    """Return the items that became due after *since* and until *now*, each at most once.

    *changed* are the watched files that changed; their items, and those without a time, are due on a round only.
    """
    found = list[DueItem]()
    for item in checklist.items:
        match item.when:
            case None:
                found += [DueItem(item)] if is_round else []
            case Watch(path=path):
                found += [DueItem(item)] if is_round and path in changed else []
            case schedule:
                slot = slots_due(schedule, since, now, GRACE).due
                found += [DueItem(item, slot)] if slot is not None else []
    return found


def next_look(checklist: Checklist, since: datetime, rhythm: Rhythm) -> datetime:
    """Return the next time at which an item may be due: the next round, or an item's own time before it."""
    times = (item.when.after(since) for item in checklist.items if isinstance(item.when, At | Every | Cron))
    return min([rhythm.round_after(since), *(each for each in times if each is not None)])


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Return the watched files that changed; a newly watched one has not."""
    return frozenset(path for path, digest in now.items() if before.get(path, digest) != digest)


def prompt_for(due: Sequence[DueItem], zone: tzinfo) -> str:
    """Return the prompt for an agent when *due* is due."""
    return "\n".join(
        [
            f"Heartbeat: nobody wrote to you. This of {FILE} is due now:",
            *(_line(each, zone) for each in due),
            "",
            _HOW_TO_ANSWER,
        ]
    )


def boot_prompt(text: str) -> str:
    """Return the prompt for an agent after its gateway's start, with *text* from its `BOOT.md`."""
    return f"The gateway has started: nobody wrote to you. BOOT.md says what to do then:\n\n{text}\n\n{_HOW_TO_ANSWER}"


def is_blank(text: str) -> bool:
    """Return whether *text* holds nothing but headings, comments and code blocks."""
    return not read_checklist(text, UTC).items


def for_owner(answer: str) -> str:
    """Return the part of an *answer* to a heartbeat that its owner is to read; empty for silence.

    `HEARTBEAT_OK` at its beginning or end with at most 300 characters besides is silence; the word itself is never
    shown.
    """
    rest = _AT_THE_END.sub("", _AT_THE_BEGINNING.sub("", answer)).strip()
    if rest != answer.strip() and len(rest) <= SILENT_WITH:
        return ""
    return _WORD.sub("", rest).strip()


def without_heartbeat_token(answer: str) -> str:
    """Return an *answer* to a person without first or last lines that consist of `HEARTBEAT_OK`."""
    text = whole = answer.strip()
    while _is_alone((parts := text.partition("\n"))[0]):
        text = parts[2].lstrip()
    while _is_alone((parts := text.rpartition("\n"))[2]):
        text = parts[0].rstrip()
    return text if len(text) < len(whole) else answer


def _is_alone(line: str) -> bool:
    """Tell whether *line* consists of `HEARTBEAT_OK`; a long one is not read, as drafts ask at each of their pieces."""
    return len(line) <= LONGEST_ALONE and _ALONE.fullmatch(line) is not None


_WORD = lazy_pattern(rf"(?:(?<![*_`])[*_`]++)?+{HEARTBEAT_OK}[*_`]*+", re.IGNORECASE)
_AT_THE_BEGINNING = lazy_pattern(rf"\A[\W_]*{HEARTBEAT_OK}[*_`]*[.!:,]*", re.IGNORECASE)
_AT_THE_END = lazy_pattern(rf"(?:(?<![\s*_`])[\s*_`]++)?+{HEARTBEAT_OK}[\W_]*+\Z", re.IGNORECASE)
"""Markup before the word is read from the beginning of a run: tried within each run it would be quadratic."""
_ALONE = lazy_pattern(rf"[\W_]*{HEARTBEAT_OK}[\W_]*", re.IGNORECASE)
LONGEST_ALONE = 200
"""Characters of a line that consists of the word; our choice."""
_HOW_TO_ANSWER = (
    f"Do it with your tools. If your owner need not hear of it, answer exactly {HEARTBEAT_OK}. What they are to read "
    "you give to notify; they see nothing else of this."
)


def _open_items(lines: Sequence[str]) -> Iterator[str]:
    """Yield each open box's text, with the indented lines below it."""
    said: list[str] | None = None
    for line in [*lines, ""]:
        box = _BOX.fullmatch(line)
        if box is None and said is not None and line[:1].isspace() and line.strip():
            said.append(line.strip())
            continue
        if said is not None and said[0]:
            yield "\n".join(said)
        said = [box["text"].strip()] if box is not None and not box["tick"].strip() else None


def _item(said: str, zone: tzinfo) -> Item:
    if found := _ON_DAYS.match(said):
        return Item(_rest(said, found), _day_schedule(found, zone))
    if found := _ONCE.match(said):
        when = f"at {found['day']} {(found['clock'] or '00:00').zfill(5)}"
        return Item(_rest(said, found), read_schedule(when, zone, _EPOCH))
    if found := _EVERY.match(said):
        return Item(_rest(said, found), read_schedule(f"every {found['span']}", zone, _EPOCH))
    if found := _WATCH.match(said):
        return Item(_rest(said, found), Watch(found["path"]))
    if _SOUNDS_TIMED.match(said):
        raise ScheduleError(f"looks like a schedule, but is not valid: use {FORMS}")
    return Item(said)


def _day_schedule(found: re.Match[str], zone: tzinfo) -> Schedule:
    try:
        return read_schedule(on_days(found), zone, _EPOCH)
    except ScheduleError:
        raise ScheduleError(f"{found[0].strip(' :,')!r} is not a time of day: use {FORMS}") from None


def _rest(said: str, found: re.Match[str]) -> str:
    rest = said[found.end() :].strip()
    if not rest:
        raise ScheduleError(f"it has a time but no task: use {FORMS}, followed by the task")
    return rest


def _line(due: DueItem, zone: tzinfo) -> str:
    match due.item.when:
        case Watch(path=path):
            why = f" ({path} changed)"
        case _:
            why = f" (due {due.slot.astimezone(zone):%A, %Y-%m-%d %H:%M})" if due.slot else ""
    return f"- {due.item.text.replace(chr(10), chr(10) + '  ')}{why}"
