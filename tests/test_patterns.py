"""Growth of every pattern's time with the length of a text: what a model, a person, a file or a platform sends must
not hold up anybody else."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial

import pytest

from gateway.agent import person_requests
from gateway.agent.models import offline_languages
from gateway.config.editing import _split_at_agent
from gateway.inbound.agent_crosstalk import _is_to
from gateway.schedule.time_words import times_in
from gateway.settings.section import PERSON
from tests.patterns import ROOT, Found, Pattern, made, of_calls, of_modules, sources
from tests.pumping import Pump, grows, pumps
from workspaces.memory.fit import _first_name
from workspaces.memory.index.ranking import _name
from workspaces.memory.text import day_spans, feasts
from workspaces.memory.text.date_words import LANGUAGES
from workspaces.memory.text.dates import _forms
from workspaces.memory.text.question_forms import asking, loosely_asking
from workspaces.memory.text.reminder_orders import reminder_patterns
from workspaces.memory.text.tokens import _exact_pattern, _pattern
from workspaces.secrets import Redactor


def _searched(pattern: re.Pattern[str]) -> list[tuple[Pattern, Callable[[str], object]]]:
    return [(pattern, lambda text: sum(1 for _ in pattern.finditer(text)))]


def _once(pattern: re.Pattern[str]) -> list[tuple[Pattern, Callable[[str], object]]]:
    return [(pattern, pattern.match)]


def _days(pattern: re.Pattern[str]) -> list[tuple[Pattern, Callable[[str], object]]]:
    return [(pattern, lambda text: day_spans.days_named(text, date(2026, 11, 23)))]


def _times(pattern: re.Pattern[str]) -> list[tuple[Pattern, Callable[[str], object]]]:
    return [(pattern, lambda text: times_in(text, date(2026, 11, 23)))]


MADE: Mapping[str, Callable[[], Iterable[tuple[Pattern, Callable[[str], object]]]]] = {
    "gateway.channels.settings._enders": lambda: _searched(re.compile(PERSON)),
    "gateway.channels.settings.is_person": lambda: _searched(re.compile("[0-9]+")),
    "gateway.config.editing._split_at_agent": lambda: [
        (re.compile(r"\s*\[\s*agents\s*\.\s*([\"']?)main\1\s*[].]"), lambda text: _split_at_agent([text], "main"))
    ],
    "workspaces.lazy_pattern.__getattr__": list,  # those of modules, which another test reads
    "gateway.inbound.agent_crosstalk._is_to": lambda: [
        (re.compile(r"(?<!\w)@main(?![\w-])"), partial(_is_to, account="main", is_mention_needed=True))
    ],
    **{
        f"gateway.agent.models.offline_languages.{make.__name__}": partial(_once, make())
        for make in (offline_languages._note_order, offline_languages._forget_order, offline_languages._said_question)
    },
    "gateway.agent.models.offline_languages._tails": lambda: [
        (offline_languages._tails(), lambda text: offline_languages.topic_of_own_words(f"what did I say about {text}"))
    ],
    "workspaces.memory.text.reminder_orders.starting": lambda: [
        (starts, starts.match) for _, starts, _ in person_requests._patterns()
    ],
    "workspaces.memory.text.reminder_orders.reminder_patterns": lambda: _searched(reminder_patterns()[1]),
    "gateway.agent.person_requests._ending": lambda: [
        (end, end.search) for _, _, end in person_requests._patterns() if end
    ],
    **{
        f"gateway.schedule.{place}": partial(_times, re.compile(words))
        for place, words in (
            ("clock_words.length_forms", "in 2 hours and 15 minutes"),
            ("clock_words.clock_forms", "at half past nine"),
            ("time_words._repetitions", "every other day"),
            ("time_words._day_forms", "the 14th of next month"),
        )
    },
    "workspaces.memory.fit._first_name": lambda: _searched(_first_name("Ann Lee")),
    "workspaces.memory.text.day_spans._compiled": lambda: _days(day_spans._compiled("tomorrow", LANGUAGES["en"])),
    "workspaces.memory.text.day_spans._any_word": lambda: _searched(day_spans._any_word("de")),
    "workspaces.memory.text.day_spans._forms": lambda: _days(re.compile("three")),
    "workspaces.memory.text.day_spans._leads": lambda: _days(day_spans._leads("before", "")),
    "workspaces.memory.text.day_spans._month_form": lambda: _days(day_spans._month_form(["january"])),
    "workspaces.memory.text.feasts._pattern": lambda: _days(feasts._pattern()),
    "workspaces.memory.index.ranking._name": lambda: _searched(_name("ann lee")),
    "workspaces.memory.text.dates._forms": lambda: [found for form in _forms() for found in _searched(form)],
    "workspaces.memory.text.question_forms.asking": lambda: _once(asking()),
    "workspaces.memory.text.question_forms.loosely_asking": lambda: _once(loosely_asking()),
    "workspaces.memory.text.tokens._pattern": lambda: [
        *_searched(_pattern(is_plain=True)),
        *_searched(_pattern(is_plain=False)),
    ],
    "workspaces.memory.text.tokens._exact_pattern": lambda: _searched(_exact_pattern("glyph-1234")),
    "workspaces.secrets.__init__": lambda: [
        (re.compile("aaaaaaaab|a secret"), Redactor(["aaaaaaaab", "a secret"])),
    ],
}
"""Patterns that are made of what is known only at run time: by module and function, an example that says what they
mention, and what reads a text with them."""


def slow(pattern: Pattern, reads: Iterable[Callable[[str], object]]) -> list[Pump]:
    """Return an input for each of *reads* that takes more than linear time."""
    inputs = pumps(pattern)
    return [pump for read in reads for pump in [next((each for each in inputs if grows(read, each)), None)] if pump]


@pytest.mark.parametrize("folder", ["adapters", "gateway", "workspaces"])
def test_every_pattern_in_a_variable_is_linear(folder: str) -> None:
    """By each method that the code uses it with, for all that the pattern mentions, repeated: 10, 20, 40 thousand."""
    found = [each for each in of_modules() if each.name.startswith(folder)]
    assert len(found) > 20, "the search for them is broken"
    assert _slow_ones(found) == {}


def test_every_pattern_in_a_function_is_linear() -> None:
    """The same of those that stand where they are used."""
    found = list(of_calls())
    assert len(found) > 8, "the search for them is broken"
    assert _slow_ones(found) == {}


def test_every_pattern_made_at_run_time_is_linear() -> None:
    """The same of those that hold a name, a secret or a passage; each place that makes one is named here."""
    assert made() == set(MADE)
    found = {place: [slow(pattern, [read]) for pattern, read in of_place()] for place, of_place in MADE.items()}
    assert {place: inputs for place, inputs in found.items() if any(inputs)} == {}


def test_patterns_are_found_where_they_are_written() -> None:
    """`re` is imported as `re` and by no other engine, so that none of its patterns goes unseen."""
    seen = {source.path for source in sources()}
    files = [path for folder in ("adapters", "gateway", "workspaces") for path in (ROOT / folder).rglob("*.py")]
    other = re.compile(r"^\s*(?:from re\b|import re as|import (?:regex|re2)\b|from regex\b)|^[ \t]+import re$", re.M)
    assert [path for path in files if other.search(path.read_text(encoding="utf-8"))] == []
    assert [path for path in files if path not in seen and re.search(r"\bre\.compile\(", path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "slow_one",
    [r"^[\s>]*x", r"<!--.*?-->", r"(\w+\s?)*!"],
)
def test_patterns_that_are_not_linear_are_found_out(slow_one: str) -> None:
    """Quadratic and exponential ones alike: the judge itself is judged, three times at most on a busy machine."""
    pattern = re.compile(slow_one, re.MULTILINE | re.DOTALL)
    looks = (pump for _ in range(3) for pump in pumps(pattern))
    assert any(grows(lambda text: [*pattern.finditer(text)], pump, (2_500, 5_000, 10_000)) for pump in looks)


def _slow_ones(found: Iterable[Found]) -> dict[str, list[Pump]]:
    judged = {each.name: slow(each.pattern, each.reading()) for each in found}
    return {name: inputs for name, inputs in judged.items() if inputs}
