"""Forms of lengths of time and of times of day in a sentence, in the languages of dates."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path

from gateway.schedule.time_values import MIDNIGHT, Length, TimeOfDay, Unread, Value
from workspaces.lazy_pattern import lazy_pattern

WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("time_words.toml").read_text("utf-8"))
_NUMBERS = WORDS["numbers"]
_ANY_NUMBER = rf"(?:\d{{1,4}}(?:[.,]5)?|{'|'.join(sorted(_NUMBERS.values(), key=len, reverse=True))})"
_HOUR = rf"(?:[01]?\d|2[0-4]|{'|'.join(list(_NUMBERS.values())[:12])})"
_AT = WORDS["words"]["at"]


Form = tuple[re.Pattern[str], Callable[[re.Match[str], date], Value | None]]
"""A pattern, and what a match of it means on a day; `None` if it means no time."""
Maker = Callable[[re.Match[str], date], Value | None]


# --- numbers and lengths


def number_of(said: str) -> float:
    """Return the number that *said*, in digits or words, means."""
    if said[0].isdigit():
        return float(said.replace(",", "."))
    return next((float(number) for number, words in _NUMBER_FORMS if words.fullmatch(said)), 0.0)


_NUMBER_FORMS = tuple((int(number), lazy_pattern(words)) for number, words in _NUMBERS.items())
_MINUTES = {"minute": 1, "hour": 60}
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "year": 12}
_UNITS = "|".join(f"(?P<{unit}>{words})" for unit, words in WORDS["units"].items())
_IN, _LATER, _FROM_NOW, _FROM_DAY = (WORDS["leads"][each] for each in ("in", "later", "from_now", "from_day"))
_MORE = (
    rf"(?:(?:\s?,)?\s{{1,2}}(?:(?:and|und|et|y|e|en|i|și|и)\s)?(?P<more>{_ANY_NUMBER})"
    rf"\s?(?:{WORDS['units']['minute']})(?!\w))?"
)
COUNTED = rf"(?P<n>{_ANY_NUMBER})[\s-]{{0,2}}(?:{_UNITS})(?![^\W\d_])"


def length_of(match: re.Match[str], _: date) -> Length | None:
    count = number_of(match["n"] or "1")
    groups = match.groupdict()
    unit = next(each for each in (*_MINUTES, *_DAYS, *_MONTHS) if groups.get(each))
    more = int(number_of(groups["more"])) if groups.get("more") else 0
    half = 30 if groups.get("half") else 0
    if unit in _MINUTES:
        return Length(minutes=round(count * _MINUTES[unit]) + half + more)
    if count != int(count) or more or half or not count:
        return None
    is_from_day = groups.get("from_day") is not None
    return Length(
        days=int(count) * _DAYS.get(unit, 0), months=int(count) * _MONTHS.get(unit, 0), is_from_day=is_from_day
    )


def length_forms() -> Iterator[Form]:
    for minutes, words in WORDS["lengths"].items():
        yield re.compile(rf"{_IN}(?:{words})(?!\w)"), always(Length(minutes=int(minutes)))
    yield re.compile(rf"{_IN}(?P<n>\d{{1,2}})\s?h\s?(?P<more>[0-5]\d)(?!\d)"), _hours_and_minutes
    yield re.compile(rf"{_IN}{COUNTED}{_MORE}"), length_of
    yield re.compile(rf"{WORDS['leads']['in_one']}(?P<n>)(?:{_UNITS})(?!\w)"), length_of
    yield re.compile(WORDS["leads"]["half_hour_later"]), always(Length(minutes=30))
    yield re.compile(rf"(?<!\w){COUNTED}{_FROM_NOW}"), length_of
    yield re.compile(rf"(?<!\w){COUNTED}(?P<from_day>{_FROM_DAY})"), _from_day
    units = _UNITS.replace("(?P<day>", "(?P<day>(?!日)(?:").replace(")|(?P<week>", "))|(?P<week>")
    yield re.compile(rf"(?P<n>{_ANY_NUMBER})(?:个|個)?(?P<half0>半)?(?:{units})(?P<half>半)?{_LATER}"), _cjk_length


def _hours_and_minutes(match: re.Match[str], _: date) -> Length:
    return Length(minutes=int(match["n"]) * 60 + int(match["more"]))


def _from_day(match: re.Match[str], today: date) -> Length | None:
    length = length_of(match, today)
    return length if length and length.days else None


def _cjk_length(match: re.Match[str], today: date) -> Length | None:
    length = length_of(match, today)
    if length is None or not match["half0"]:
        return length
    return Length(minutes=length.minutes + 30) if length.minutes else None


def always(value: Value) -> Maker:
    return lambda _, __: value


# --- times of day


def _clock(match: re.Match[str], _: date) -> TimeOfDay | None:
    """Return the time of day of *match*: its groups `hour`, `minute` and `half` of the day."""
    groups = match.groupdict()
    hour, minute = int(number_of(groups["hour"])), int(groups.get("minute") or 0)
    if groups.get("half_hour"):
        minute = 30
    half = (groups.get("half") or "")[:1]
    if half and not 1 <= hour <= 12:
        return None
    is_exact = bool(half) or hour > 12 or groups["hour"].startswith("0")
    hour = hour % 12 + 12 * (half == "p") if half else hour
    is_time = (hour < 24 and minute < 60) or (hour, minute) == (24, 0)
    return TimeOfDay(hour, minute, is_exact or hour == 0) if is_time else None


def _digital(match: re.Match[str], today: date) -> TimeOfDay | None:
    """Return a time in digits, which is one of 24 hours unless the sentence is English."""
    clock = _clock(match, today)
    if clock is None or clock.is_exact or _ENGLISH.search(match.string):
        return clock
    return TimeOfDay(clock.hour, clock.minute, is_exact=True)


_ENGLISH = lazy_pattern(r"(?<!\w)(?:at|remind|tomorrow|every|today|tonight)(?!\w)")


def _around(minutes: int) -> Maker:
    def make(match: re.Match[str], _: date) -> TimeOfDay | None:
        hour = int(number_of(match["hour"]))
        past = (hour * 60 + minutes) % 1440
        is_exact = hour > 12
        # Half past twelve and a quarter to one are of the hours around noon.
        return TimeOfDay(past // 60 or 12, past % 60, is_exact) if hour else None

    return make


def _minutes_around(sign: int) -> Maker:
    def make(match: re.Match[str], today: date) -> Value | None:
        minutes = int(number_of(match["minutes"]))
        half = -30 if match.groupdict().get("to_half") else 0
        return _around(sign * minutes + half)(match, today) if minutes in {5, 10, 15, 20, 25} else None

    return make


def _spoken(match: re.Match[str], _: date) -> TimeOfDay:
    """Return an hour with its minutes in words: "nine thirty"."""
    hour = int(number_of(match["hour"]))
    return TimeOfDay(hour, int(number_of(match["minutes"])), is_exact=hour > 12)


_MINUTE_WORD = "|".join(words for number, words in _NUMBERS.items() if 10 <= int(number) < 60)
_HALF_OF_DAY = r"(?P<half>[ap]\.?\s?m(?:\.|(?!\w)))"
_LENGTH = r"\s?(?:hours|minutes|mins|days|weeks|months|years|stunden|minuten|tagen?|wochen|monaten?|jahren?)(?!\w)"
"""Behind a number that is no hour: "by two hours"."""
_OF_HOUR = r"(?:\s?(?:o'clock|uhr|heures?|h|uur|ore)(?!\w))"


def clock_forms() -> Iterator[Form]:
    hour = rf"(?P<hour>{_HOUR})"
    for sign, key in ((1, "after"), (-1, "before")):
        around = WORDS["minutes_around"][key]
        yield (
            re.compile(
                rf"{_AT}?(?<!\w)(?P<minutes>{_ANY_NUMBER})(?: min(?:ute[ns]?|uten)?)? (?:{around}) "
                rf"(?P<to_half>hal[bf] )?{hour}(?![\w:.-]){_OF_HOUR}?"
            ),
            _minutes_around(sign),
        )
    for minutes, words in WORDS["before_hour"].items():
        yield re.compile(rf"{_AT}?(?<!\w)(?:{words})\s{{1,3}}{hour}(?![\w:.-]){_OF_HOUR}?"), _around(int(minutes))
    for minutes, words in WORDS["after_hour"].items():
        yield re.compile(rf"{_AT}{hour}{_OF_HOUR}?\s{{1,3}}(?:{words})(?!\w)"), _around(int(minutes))
    minutes = rf"(?P<minutes>{_ANY_NUMBER})(?![\w:])"
    yield re.compile(rf"{_AT}{hour}{_OF_HOUR}?\s(?:{WORDS['minutes_around']['more']})\s{minutes}"), _minutes_around(1)
    yield re.compile(rf"{_AT}{hour}{_OF_HOUR}?\s(?:{WORDS['minutes_around']['less']})\s{minutes}"), _minutes_around(-1)
    yield re.compile(rf"{_AT}{hour}{_OF_HOUR}?\s(?P<minutes>{_MINUTE_WORD})(?!\w)"), _spoken
    yield re.compile(rf"{_AT}?(?<!\w)half (?P<hour>{_HOUR})(?![\w:.-])"), always(Unread.UNREAD)
    minute = r"(?P<minute>[0-5]\d)"
    half = rf"\s{{0,2}}{_HALF_OF_DAY}?"
    yield re.compile(rf"{_AT}?(?<![\d.,:-])(?P<hour>\d{{1,2}})[:h]{minute}(?![\d:]){half}(?:\s?uhr)?"), _digital
    yield re.compile(rf"(?<![\d.,:-])(?P<hour>\d{{1,2}})\s?uhr\s?{minute}(?!\d)"), _digital
    yield re.compile(rf"{_AT}(?P<hour>\d{{1,2}})\.{minute}(?![\d.]){half}(?:\s?uhr)?"), _digital
    yield re.compile(rf"(?<![\d.,:-])(?P<hour>\d{{1,2}})\.{minute}\s?uhr(?!\w)"), _digital
    yield re.compile(rf"{_AT}(?P<hour>[01]\d|2[0-3]){minute}(?:\s?(?:h|hours|uhr))?(?![\w:.,-])"), _clock
    yield re.compile(rf"{_AT}{hour}(?!\d|[.,:-]\d|\w|{_LENGTH}){half}{_OF_HOUR}?"), _clock
    yield re.compile(rf"{_AT}(?P<hour>\d{{1,2}})(?=[ap]\.?m|h(?!\w)|uhr){half}{_OF_HOUR}?"), _clock
    yield re.compile(rf"(?<![\w.,:-])(?P<hour>\d{{1,2}})\s{{0,2}}{_HALF_OF_DAY}"), _clock
    yield re.compile(rf"(?<![\w.,:-]){hour}\s?(?:uhr|o'clock|uur)(?!\w)"), _clock
    yield re.compile(r"(?<![\d.,:-])(?P<hour>\d{1,2})h(?!\w)"), _clock
    yield (
        re.compile(rf"(?P<hour>{_HOUR})(?:点|時|點)(?!間|间)(?:钟|鐘)?(?:(?P<half_hour>半)|(?P<minute>\d{{1,2}})分?)?"),
        _clock,
    )
    yield re.compile(rf"{_AT}?(?:{WORDS['clock']['noon']})"), always(TimeOfDay(12, is_exact=True))
    yield re.compile(rf"{_AT}?(?:{WORDS['clock']['midnight']})"), always(MIDNIGHT)
