"""Days as people say them, seen from Wednesday, 4 March 2026."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.memory.text.date_words import LANGUAGES
from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.day_spans import EDGE_DAYS, DaySpan, dated, days_named

TODAY = date(2026, 3, 4)


def day(text: str) -> date:
    return date.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did I do today", "2026-03-04", "2026-03-04"),
        ("yesterday's call", "2026-03-03", "2026-03-03"),
        ("the day before yesterday", "2026-03-02", "2026-03-02"),
        ("10 days ago", "2026-02-22", "2026-02-22"),
        ("four days ago", "2026-02-28", "2026-02-28"),
        ("two weeks ago", "2026-02-15", "2026-02-21"),
        ("a couple of weeks ago", "2026-02-15", "2026-02-21"),
        ("a year ago", "2024-09-05", "2025-08-31"),
        ("this week", "2026-03-02", "2026-03-08"),
        ("Last week", "2026-02-23", "2026-03-01"),
        ("last weekend", "2026-02-28", "2026-03-01"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("this year", "2026-01-01", "2026-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("on Monday", "2026-03-02", "2026-03-02"),
        ("last wednesday", "2026-02-25", "2026-02-25"),
        ("Was habe ich gestern gegessen?", "2026-03-03", "2026-03-03"),
        ("vor zwei Wochen", "2026-02-15", "2026-02-21"),
        ("letztes Wochenende", "2026-02-28", "2026-03-01"),
        ("am Montag", "2026-03-02", "2026-03-02"),
        ("il y a trois jours", "2026-03-01", "2026-03-01"),
        ("la semaine dernière", "2026-02-23", "2026-03-01"),
        ("¿Qué dije ayer?", "2026-03-03", "2026-03-03"),
        ("la semana pasada", "2026-02-23", "2026-03-01"),
        ("hace dos días", "2026-03-02", "2026-03-02"),
        ("tre giorni fa", "2026-03-01", "2026-03-01"),
        ("il mese scorso", "2026-02-01", "2026-02-28"),
        ("na semana passada", "2026-02-23", "2026-03-01"),
        ("há dois dias", "2026-03-02", "2026-03-02"),
        ("vorige week", "2026-02-23", "2026-03-01"),
        ("drie dagen geleden", "2026-03-01", "2026-03-01"),
        ("dwa dni temu", "2026-03-02", "2026-03-02"),
        ("w zeszłym tygodniu", "2026-02-23", "2026-03-01"),
        ("Что я говорил вчера?", "2026-03-03", "2026-03-03"),
        ("два дня назад", "2026-03-02", "2026-03-02"),
        ("на прошлой неделе", "2026-02-23", "2026-03-01"),
        ("два тижні тому", "2026-02-15", "2026-02-21"),
        ("săptămâna trecută", "2026-02-23", "2026-03-01"),
        ("昨天我说了什么", "2026-03-03", "2026-03-03"),
        ("三天前", "2026-03-01", "2026-03-01"),
        ("上个星期", "2026-02-23", "2026-03-01"),
        ("先週の会議", "2026-02-23", "2026-03-01"),
        ("昨日", "2026-03-03", "2026-03-03"),
    ],
)
def test_a_day_may_be_named_from_today(text: str, first: str, last: str) -> None:
    """In words or digits, in thirteen languages, with and without accents."""
    assert days_named(text, TODAY) == [DaySpan(day(first), day(last))]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("before May", "0001-01-01", "2025-05-01"),
        ("before the 2nd?", "0001-01-01", "2026-03-02"),
        ("before the 13th", "0001-01-01", "2026-02-13"),
        ("what did I say until 3 March", "0001-01-01", "2026-03-03"),
        ("since 3 March", "2026-03-03", "9999-12-31"),
        ("after the 2nd of February 2026", "2026-02-02", "9999-12-31"),
        ("since last week", "2026-02-23", "9999-12-31"),
        ("between May and July what did Kate do", "2025-05-01", "2025-07-31"),
        ("from 3 January to 8 February", "2026-01-03", "2026-02-08"),
        ("seit dem 3. März", "2026-03-03", "9999-12-31"),
        ("zwischen Januar und Februar", "2026-01-01", "2026-02-28"),
        ("avant le 3 mars", "0001-01-01", "2026-03-03"),
        ("desde el 1 de febrero", "2026-02-01", "9999-12-31"),
        ("до 3 марта", "0001-01-01", "2026-03-03"),
    ],
)
def test_words_before_a_date_make_it_a_range(text: str, first: str, last: str) -> None:
    """Without a year the latest date that has begun."""
    assert days_named(text, TODAY) == [DaySpan(day(first), day(last))]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("in May", NamedDate(None, 5)),
        ("on 8 May 2023", NamedDate(2023, 5, 8)),
        ("what happened on Friday the 13th?", NamedDate(None, None, 13)),
        ("on Friday, 27 March", NamedDate(None, 3, 27)),
        ("am 8. März", NamedDate(None, 3, 8)),
        ("le 8 août 2023", NamedDate(2023, 8, 8)),
        ("8 de marzo de 2023", NamedDate(2023, 3, 8)),
        ("8 марта", NamedDate(None, 3, 8)),
    ],
)
def test_a_date_without_such_words_stays_as_far_as_it_is_named(text: str, named: NamedDate) -> None:
    """In the languages whose months are known."""
    assert days_named(text, TODAY) == [named]


@pytest.mark.parametrize(
    "text",
    [
        "Who may I ask about second hand cars now?",
        "When did I go to the dentist?",
        "what did we decide about the boat",
        "What is the code of the gate of Ann?",
        "Marc and the lune marca of mars",
        "we march on",
        "the last day of school",
        "",
        "日本の天気",
    ],
)
def test_words_that_only_look_like_days_name_none(text: str) -> None:
    """Function words of other languages, names, planets."""
    assert days_named(text, TODAY) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_has_a_word_by_which_its_language_is_tried(language: str) -> None:
    """A language is tried on texts with one of its words for a day or a unit alone, so each form must have one."""
    words = LANGUAGES[language]
    forms = "; ".join((words.ago, words.ahead, words.last, words.this, words.following)).split("; ")
    assert all("{u}" in form for form in forms if form)


def test_a_span_has_a_soft_edge() -> None:
    """Its days count fully, those beside it less and less, all others nothing; also at the ends of the calendar."""
    span = DaySpan(day("2026-03-02"), day("2026-03-03"))
    near = [span.nearness(day("2026-03-03") + timedelta(number)) for number in range(EDGE_DAYS + 2)]
    assert near[0] == span.nearness(day("2026-03-02")) == 1
    assert near == sorted(near, reverse=True)
    assert near[1] > near[-2] > near[-1] == 0
    assert DaySpan(date.min, date.max).nearness(TODAY) == 1


def test_a_relative_day_gets_its_date_beside_it() -> None:
    """Single days only, once, whatever the language; what has its date already stays."""
    assert dated("Ann comes tomorrow, as she said yesterday.", TODAY) == (
        "Ann comes tomorrow (2026-03-05), as she said yesterday (2026-03-03)."
    )
    assert dated("Gestern war Ärger", TODAY) == "Gestern (2026-03-03) war Ärger"
    for weekday in ("He comes on the first Monday of March", "Chess on Tuesdays", "Freitags ist Markt"):
        assert dated(weekday, TODAY) == weekday
    for text in ("tomorrow (2026-03-05)", "last week", "in May", "nothing", "ß" * 3 + " ﬁ yesterday"):
        assert dated(text, TODAY) in {text, "ßßß ﬁ yesterday (2026-03-03)"}


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        ("Ann comes on Sunday.", "Ann comes on Sunday (2026-03-08)."),
        ("We met Ann on Sunday.", "We met Ann on Sunday (2026-03-01)."),
        ("We meet Ann on Sunday at 10", "We meet Ann on Sunday (2026-03-08) at 10"),
        ("Last Friday we swam", "Last Friday (2026-02-27) we swam"),
        ("the slides are due by friday noon", "the slides are due by friday (2026-03-06) noon"),
        ("The visit was moved to Monday", "The visit was moved to Monday (2026-03-09)"),
        ("We swam. The boat leaves on Monday at 9", "We swam. The boat leaves on Monday (2026-03-09) at 9"),
        ("Zahnarzt morgen um 10", "Zahnarzt morgen (2026-03-05) um 10"),
        ("mañana viene Ana por la mañana", "mañana (2026-03-05) viene Ana por la mañana"),
        ("Oma kommt am Sonntag", "Oma kommt am Sonntag (2026-03-08)"),
        ("Am Montag war der Arzt da", "Am Montag (2026-03-02) war der Arzt da"),
    ],
)
def test_a_weekday_gets_the_date_that_its_sentence_tells(said: str, noted: str) -> None:
    """Past or coming, by the words around it."""
    assert dated(said, TODAY) == noted


@pytest.mark.parametrize(
    "text",
    [
        "We met on Sunday and will meet again",
        "Guten Morgen, jeden Morgen laufe ich",
        "Morgen zusammen",
        "goede morgen",
        "por la mañana trabajo",
        "na segunda parte do filme",
        "Sunday",
        "the Monday meeting is long",
        "chess is on Tuesday every week",
        "the bins are collected on Friday mornings",
        "it is on Friday the 13th",
        "she comes on Sunday 15 March",
        "it is open on Saturday or Sunday",
        "he comes next Friday",
        "the visit is on Wednesday",
        "the first Monday of March is free",
    ],
)
def test_an_unclear_weekday_gets_no_date(text: str) -> None:
    """A wrong date is worse than none: today's own weekday, several days, repetitions, names, both tenses, none."""
    assert dated(text, TODAY) == text


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No input breaks the reader, and dates written beside days keep every word."""
    days_named(text, TODAY)
    assert len(dated(text, TODAY)) >= len(text)


@pytest.mark.parametrize("text", ["9999 years ago", "9999 weeks ago", "in 9999 years", "last year " * 500])
def test_days_beyond_the_calendar_name_none(text: str) -> None:
    """Neither an error nor a hang."""
    assert len(days_named(text, TODAY)) <= 1
