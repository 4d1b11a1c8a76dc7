"""The part of an answer that repeats no note: quotations do not become evidence a second time."""

import json
import sys
import time
from datetime import UTC, datetime

import pytest

from gateway.agent.entries import Entry, ResultEntry, TurnNoteEntry, UserEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.repetition import own_part

NOTES = ("- Owner (21:17): the plumber comes on Tuesday at 9 and wants 120 euros", "- The wifi code is KX-4471.")
ASKED = UserEntry("When does the plumber come, and what is the code?", datetime(2026, 11, 28, tzinfo=UTC), "", "1")


def found(name: str = "memory_search", day: str = "2026-11-27") -> ResultEntry:
    hits = [{"citation": f"memory/{day}.md#L{n}-L{n}", "date": day, "snippet": text} for n, text in enumerate(NOTES, 4)]
    return ResultEntry("call", name, json.dumps({"hits": hits}), is_error=False)


def own(answer: str, *entries: Entry, stable: str = "Be brief.") -> str | None:
    return own_part(answer, ModelRequest(stable, (*entries, ASKED), ()))


QUOTING = [
    "According to your notes (memory/2026-11-27.md#L4): Owner (21:17): the plumber comes on Tuesday at 9 for 120 euros",
    "The plumber comes Tuesday at 9:00 and wants 120 euros. The code is **KX-4471** (`memory/2026-11-27.md#L5`).",
    "I found this:\n\n> The wifi code is KX-4471.\n\nLet me know if you need anything else.",
    "Friday, 27 November 2026 (`memory/2026-11-27.md#L4-L4`):\n> the plumber comes on Tuesday at 9 and wants 120 euros",
    "main answered: according to your notes the wifi code is KX-4471",
]


@pytest.mark.parametrize("answer", QUOTING)
def test_an_answer_that_quotes_notes_has_no_part_of_its_own(answer: str) -> None:
    """Wherever the model was shown them: by a search, in the note on the turn, or in its prompt."""
    text = "\n".join(f"> {line.removeprefix('- ')}" for line in (*NOTES, "noted on 2026-11-27"))
    assert own(answer, found()) == ""
    assert own(answer, TurnNoteEntry(text)) == ""
    assert own(answer, stable=text) == ""


@pytest.mark.parametrize(
    "answer",
    [
        "The plumber comes Tuesday at 10.",
        "The wifi code is KX-4472.",
        "Ask Farouk for the code of the wifi.",
        "Take the tram to the harbour and change there for the old town, it is faster.",
        "Hello! How can I help?",
    ],
)
def test_what_no_note_says_is_all_its_own(answer: str) -> None:
    """Another value, another name, and another matter."""
    assert own(answer, found()) is None


def test_what_a_model_adds_to_a_quotation_stays() -> None:
    """Only the sentences with facts that no note has are evidence."""
    answer = "The wifi code is KX-4471. The hotline of the provider is 0800 5550199."
    assert own(answer, found()) == "The hotline of the provider is 0800 5550199."


def test_only_what_the_workspace_holds_is_quoted() -> None:
    """Results of other tools stand nowhere yet."""
    assert own("The wifi code is KX-4471.", found("web_search")) is None


def test_what_a_person_told_is_repeated_and_what_they_asked_is_not() -> None:
    """The message is evidence by itself; of two values in a question the answer says which one holds."""
    told, asked, passed_on = (
        UserEntry(text, ASKED.at, "", "0", from_outside=is_others)
        for text, is_others in (
            ("the WiFi code is KX-4471", False),
            ("is the wifi code KX-4471 or KX-4472?", False),
            ("the wifi code is KX-4471", True),
        )
    )
    assert own("Got it: the wifi code is KX-4471.", told) == ""
    assert own("Your WiFi code is KX-4471.", told) == ""
    assert own("The wifi code is KX-4471.", asked) is None
    assert own("The wifi code is KX-4471.", passed_on) is None


def test_a_result_that_was_shortened_is_read_as_text() -> None:
    """It is no JSON any more."""
    cut = ResultEntry("call", "memory_get", found().text[:-9], is_error=False)
    assert own("The plumber wants 120 euros.", cut) == ""


def test_a_long_answer_beside_many_notes_is_read_in_linear_time() -> None:
    """A word of all lines tells nothing about which of them a sentence repeats."""
    notes = TurnNoteEntry("\n".join(f"- the boat has place {number}" for number in range(5_000)))
    began = time.process_time()
    assert own("The boat is green. " * 20_000, notes) is None
    assert time.process_time() - began < 2


def test_a_conversation_is_read_once_and_not_for_each_answer() -> None:
    """The next request holds nearly all of its texts again: only new ones are looked at word by word."""
    said = [UserEntry(f"the hut at the lake costs {number} a night", ASKED.at, "", str(number)) for number in range(90)]
    first = _functions_entered("The hut costs 40 a night.", said[:-1])
    assert _functions_entered("The lake has 40 huts.", said) < first / 2


def _functions_entered(answer: str, said: list[UserEntry]) -> int:
    entered = 0

    def enter(_: object, event: str, __: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(enter)
    try:
        own(answer, *said)
    finally:
        sys.setprofile(None)
    return entered
