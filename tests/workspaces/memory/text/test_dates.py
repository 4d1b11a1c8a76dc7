"""Days, months and years recognised in a text."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.memory.text.dates import NamedDate, date_in, mentions


def dates_named(text: str) -> list[NamedDate]:
    """Return the dates in *text*, each once."""
    return list(dict.fromkeys(named for _, _, named in mentions(text)))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on 8 May 2023", NamedDate(2023, 5, 8)),
        ("May 8th, 2023", NamedDate(2023, 5, 8)),
        ("the 3rd of June", NamedDate(None, 6, 3)),
        ("sept 9", NamedDate(None, 9, 9)),
        ("Dec. 24", NamedDate(None, 12, 24)),
        ("2023-05-08", NamedDate(2023, 5, 8)),
        ("8.5.2023", NamedDate(2023, 5, 8)),
        ("2023/05/08", NamedDate(2023, 5, 8)),
        ("2023年5月8日", NamedDate(2023, 5, 8)),
        ("2023년 5월 8일", NamedDate(2023, 5, 8)),
        ("memory/2023-05-08-standup.md", NamedDate(2023, 5, 8)),
        ("2023-05", NamedDate(2023, 5)),
        ("in May", NamedDate(None, 5)),
        ("last march", NamedDate(None, 3)),
        ("October?", NamedDate(None, 10)),
        ("June, 2022", NamedDate(2022, 6)),
        ("what happened in 2022", NamedDate(2022)),
    ],
)
def test_a_date_is_read_as_far_as_it_is_named(text: str, named: NamedDate) -> None:
    """Month names, ISO, dotted and CJK forms, whole or in part; each date once."""
    assert dates_named(text) == [named]


@pytest.mark.parametrize(
    "text",
    ["may I ask", "we march on", "31 April is 31", "room 2023b", "in a decade", "12345"],
)
def test_what_only_looks_like_a_date_names_none(text: str) -> None:
    """Modal verbs, impossible days, numbers inside names."""
    assert all(named.day is None and named.year is None for named in dates_named(text))
    assert date_in(text) is None


def test_a_date_in_slashes_is_named_in_both_orders() -> None:
    """Day or month first, nobody knows; as a note's own date it counts only where one of them exists."""
    assert dates_named("on 3/4/2026") == [NamedDate(2026, 4, 3), NamedDate(2026, 3, 4)]
    assert dates_named("on 23/4/2026") == [NamedDate(2026, 4, 23)]
    assert (date_in("3/4/2026"), date_in("4/23/2026")) == (None, date(2026, 4, 23))


def test_several_dates_are_all_named() -> None:
    """The more exact forms come first, and none is counted again as a part of itself."""
    assert dates_named("from 2021 to 8 May 2023") == [NamedDate(2023, 5, 8), NamedDate(2021)]


def test_a_named_date_covers_the_days_that_agree_with_it() -> None:
    """What is not named does not matter."""
    day = date(2023, 5, 8)
    assert NamedDate(2023).covers(day)
    assert NamedDate(None, 5).covers(day)
    assert NamedDate(None, 5, 8).covers(day)
    assert not NamedDate(2022, 5, 8).covers(day)
    assert not NamedDate(None, 6).covers(day)
    assert not NamedDate(2023, 5, 9).covers(day)


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_day_is_read_back_from_its_forms(day: date) -> None:
    """ISO and both English orders mean the same day."""
    assert date_in(day.isoformat()) == day
    assert date_in(f"on {day.day} {day:%B} {day.year}, they") == day
    assert date_in(f"{day:%b} {day.day}, {day.year}") == day


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No input breaks the reader, and what it names exists."""
    for named in dates_named(text):
        date(named.year or 2000, named.month or 1, named.day or 1)
