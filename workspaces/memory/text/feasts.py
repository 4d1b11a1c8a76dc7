"""Days that people name by a feast: "Christmas Eve", "Ostermontag", "la Saint-Sylvestre".

Western Christian feasts, and some of English-speaking countries.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache

from workspaces.lazy_pattern import lazy_pattern


def _on(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _after_easter(days: int) -> Callable[[int], date]:
    return lambda year: _easter(year) + timedelta(days)


def _easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    i = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    n = h + i - 7 * ((a + 11 * h + 22 * i) // 451) + 114
    return date(year, n // 31, n % 31 + 1)


def _thanksgiving(year: int) -> date:
    """Return the fourth Thursday of November."""
    return date(year, 11, 22) + timedelta((3 - date(year, 11, 22).weekday()) % 7)


_FEASTS: Mapping[str, Callable[[int], date]] = {
    r"christmas eve|heilig(?:er |en )?abend|nochebuena|kerstavond": _on(12, 24),
    r"christmas(?! eve)(?: day)?|xmas|weihnachten|(?<=[ae] )noel|navidad|natale|kerst(?:mis)?": _on(12, 25),
    r"boxing day|stephanitag": _on(12, 26),
    r"new year.?s eve|silvester|saint.sylvestre|nochevieja|oudejaarsavond|sylwester": _on(12, 31),
    r"new year.?s(?! eve)(?: day)?|neujahr(?:stag)?|ano nuevo|nouvel an|capodanno|ano novo|nieuwjaar": _on(1, 1),
    r"epiphany|dreikonigstag|dia de reyes|epiphanie|epifania": _on(1, 6),
    r"valentine.?s(?: day)?|valentinstag|saint.valentin|san valentin[eo]?|valentijnsdag": _on(2, 14),
    r"st\.? patrick.?s day": _on(3, 17),
    r"halloween": _on(10, 31),
    r"all saints(?:.? day)?|allerheiligen|toussaint|todos los santos|ognissanti": _on(11, 1),
    r"thanksgiving": _thanksgiving,
    r"rosenmontag": _after_easter(-48),
    r"shrove tuesday|pancake day|mardi gras|faschingsdienstag": _after_easter(-47),
    r"ash wednesday|aschermittwoch": _after_easter(-46),
    r"good friday|karfreitag|vendredi saint|viernes santo|venerdi santo|goede vrijdag": _after_easter(-2),
    r"easter(?! monday)(?: sunday)?|ostern|ostersonntag|paques|pascua|pasqua|pasen|wielkanoc": _after_easter(0),
    r"easter monday|ostermontag|lundi de paques|pasquetta": _after_easter(1),
    r"ascension day|(?:christi )?himmelfahrt": _after_easter(39),
    r"whit sunday|pentecost|pfingst(?:en|sonntag)|pentecote|pentecostes": _after_easter(49),
    r"whit monday|pfingstmontag|lundi de pentecote": _after_easter(50),
    r"corpus christi|fronleichnam": _after_easter(60),
}
"""By their names in lower case without accents, the day of a year."""
_PAST = lazy_pattern(
    r"\b(?:did|was|were|had|got|went|gave|made|ate|last|war(?:en)?|hat(?:te|ten)?|haben|gab|etait|avons|avait|fue"
    r"|hicimos|hice|era|abbiamo|deed|waren)\b"
)
"""Words of a question about the past."""


def feasts_in(text: str, today: date) -> Iterator[tuple[int, int, date]]:
    """Yield the start, the end and the day of each feast in *text*, which is in lower case without accents.

    Without a year it is the last one, if the text speaks of the past: plans for a feast were made on other days.
    """
    has_been = _PAST.search(text) is not None
    for match in _pattern().finditer(text):
        day_of = next(day for place, day in enumerate(_FEASTS.values()) if match[f"f{place}"])
        if match["year"]:
            yield *match.span(), day_of(int(match["year"]))
        elif has_been:
            yield *match.span(), max(day for each in (-1, 0) if (day := day_of(today.year + each)) <= today)


def feasts_ahead(text: str, today: date) -> Iterator[tuple[int, int, date]]:
    """Yield the start, the end and the coming day of each feast in *text*, as `feasts_in`."""
    for match in _pattern().finditer(text):
        day_of = next(day for place, day in enumerate(_FEASTS.values()) if match[f"f{place}"])
        years = [int(match["year"])] if match["year"] else [today.year, today.year + 1]
        if days := [day for year in years if (day := day_of(year)) >= today]:
            yield *match.span(), days[0]


@cache
def _pattern() -> re.Pattern[str]:
    words = "|".join(f"(?P<f{place}>{name})" for place, name in enumerate(_FEASTS))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)(?:,? (?P<year>(?:19|20)\d\d)\b)?")
