"""Order of search results: score parts, precedence of rules, removal of duplicates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.fakes.counted import counted
from workspaces.access import PRIVATE
from workspaces.memory.entry import Entry
from workspaces.memory.index.engine import PARTS, Scores
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.ranking import (
    KEYWORDS_ALONE,
    WITHOUT_LATE,
    Pool,
    Ranked,
    Weights,
    blended,
    identifiers_in_text,
    kind_of,
    question_of,
    rank,
    relevance,
    speaker_of,
)
from workspaces.memory.index.repetitions import shown_once, without_near_duplicates, without_noted_orders
from workspaces.memory.index.settings import Blend
from workspaces.memory.text.dialogue import LineKind

TODAY = date(2026, 3, 7)
EVERY_WEIGHT = [Weights(), WITHOUT_LATE, KEYWORDS_ALONE]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry with the parts of its score."""

    entry: Entry
    cosine: float = 0.0
    late: float = 0.0
    late_context: float = 0.0
    bm25: float = 0.0
    bm25_context: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """What the manifest would know of an entry."""

    path: str
    position: int
    date: date | None
    kind: LineKind
    speaker: str


@dataclass(frozen=True, slots=True)
class Result:
    """A candidate in its place."""

    entry: Entry
    ranked: Ranked


def candidate(text: str, position: int = 0, path: str = "memory/a.md", day: date | None = TODAY) -> Candidate:
    """A candidate that no leg has seen."""
    return Candidate(Entry(path, PRIVATE, position, position + 1, position + 1, text, "", day, ""))


def results(question: str, candidates: Sequence[Candidate], weights: Weights | None = None) -> list[Result]:
    """Rank *candidates*."""
    asked, entries = question_of(question, TODAY), [each.entry for each in candidates]
    columns = {name: np.array([getattr(each, name) for each in candidates], np.float64) for name in PARTS}
    scores = Scores(np.arange(len(candidates)), **columns)
    standing = [
        Placed(entry.path, entry.position, entry.date, kind_of(entry.text), speaker_of(entry.text)) for entry in entries
    ]
    pool = Pool(scores, standing, [identifiers_in_text(asked, entry.text) for entry in entries])
    return [Result(entries[each.row], each) for each in rank(asked, pool, weights or Weights(), TODAY)]


def order(question: str, *candidates: Candidate, weights: Weights | None = None) -> list[str]:
    return [each.entry.text for each in results(question, candidates, weights)]


@pytest.mark.parametrize("weights", EVERY_WEIGHT)
def test_an_exact_identifier_wins_at_any_age_over_the_best_vectors(weights: Weights) -> None:
    """Even with useless vectors, and though its prefix stands in every other note."""
    old = replace(candidate("key GLYPH-12345 is under the mat", day=date(1990, 1, 1)), cosine=-1.0)
    others = [
        replace(candidate(f"GLYPH-1234{n} lies here", 10 + n, "memory/b.md"), cosine=1.0, late=1.0, bm25=9.0 + n)
        for n in (1, 2, 3, 4, 6, 7, 8, 9)
    ]
    assert order("where is glyph-12345?", *others, old, weights=weights)[0] == old.entry.text


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("(glyph-12345)", True),
        ("ticket:GLYPH-12345.", True),
        ("[GLYPH-12345](https://example.org/GLYPH-12345)", True),
        ("GLYPH-123456", False),
        ("MEGA-GLYPH-12345", False),
        ("GLYPH-12345-b", False),
        ("GLYPH-12345.1", False),
        ("GLYPH 12345", False),
    ],
)
def test_an_identifier_is_held_word_for_word_or_not_at_all(text: str, is_held: bool) -> None:
    """A longer identifier that contains it is another one."""
    assert bool(identifiers_in_text(question_of("GLYPH-12345", TODAY), text)) is is_held


def test_more_of_the_identifiers_asked_for_come_first() -> None:
    """Of two ids in a question, the note with both is before the notes with one."""
    one, both = candidate("AB-1 alone", 0, "memory/x.md"), candidate("AB-1 and CD-2", 9)
    assert order("AB-1 CD-2", replace(one, bm25=9.0, cosine=1.0), both) == ["AB-1 and CD-2", "AB-1 alone"]


With = Callable[[Candidate, float], Candidate]
EACH_PART: list[With] = [
    lambda candidate, value: replace(candidate, cosine=value),
    lambda candidate, value: replace(candidate, late=value),
    lambda candidate, value: replace(candidate, late_context=value),
    lambda candidate, value: replace(candidate, bm25=value),
    lambda candidate, value: replace(candidate, bm25_context=value),
]


@given(st.sampled_from(EACH_PART), st.floats(0.3, 0.9), st.floats(0.0, 0.1), st.sampled_from(EVERY_WEIGHT))
def test_more_of_any_part_never_ranks_lower(part: With, value: float, more: float, weights: Weights) -> None:
    """Everything else being equal, a candidate rises with each part of its score."""
    lower = part(candidate("lower", 0, "memory/x.md"), value)
    higher = part(candidate("higher", 5, "memory/y.md"), value + more + 0.01)
    first, second = results("question", [lower, higher], weights)
    assert first.ranked.score == second.ranked.score or first.entry.text == "higher"


def test_neighbours_lend_a_score_within_their_file_only() -> None:
    """What stands beside a match comes before what stands elsewhere, two steps at most."""
    match = replace(candidate("Bo: match", 5), cosine=0.9, late=0.9, late_context=0.9)
    beside = [candidate(f"Ann: off {n}", 5 + n) for n in (3, 2, 1)]
    elsewhere = candidate("Bo: elsewhere", 4, "memory/b.md")
    ranked = results("question", [elsewhere, *beside, match])
    scores = {each.entry.text: each.ranked.score for each in ranked}
    assert ranked[0].entry.text == "Bo: match"
    assert scores["Ann: off 1"] == scores["Ann: off 2"] > scores["Ann: off 3"] == scores["Bo: elsewhere"]


def test_a_question_lends_nothing_to_the_line_before_it() -> None:
    """What was asked matches a question best; what merely stands before it gains nothing by that."""
    asks = replace(candidate("Ann: which tea do you like?", 5), cosine=0.9, late=0.9, late_context=0.9)
    before, says = candidate("Ben: it rains", 4), replace(asks, entry=replace(asks.entry, text="Ann: I like tea"))
    lent = {each.entry.text: each.ranked.part("neighbour") for each in results("tea", [before, asks])}
    assert lent["Ben: it rains"] == 0
    assert any(each.ranked.part("neighbour") > 0 for each in results("tea", [before, says]))


def test_an_owner_and_an_agent_lend_to_each_other_and_lines_of_ones_own_log_do_not() -> None:
    """An answer needs the words of its question, and a question those of its answer; a diary's lines are no talk."""
    match = replace(candidate("Owner: the login of the shop", 5), cosine=0.9, late=0.9, late_context=0.9)
    answer, log = candidate("Agent: use a blueprint", 6), candidate("Owner: paid the rent", 6)
    agents = replace(match, entry=replace(match.entry, text="Agent: the login of the shop"))

    def lent(first: Candidate, second: Candidate) -> float:
        found = results("login", [first, second])
        return next(each.ranked.part("neighbour") for each in found if each.entry is second.entry)

    assert lent(match, answer) > 0
    assert lent(agents, log) > 0
    assert lent(match, log) == 0


def test_the_day_that_a_question_names_counts() -> None:
    """By full date, by month, and seen from today."""
    named, other = candidate("a", 0, "memory/x.md", date(2026, 2, 5)), candidate("b", 0, "memory/y.md", TODAY)
    for question in ("on 5 February 2026", "in February", "30 days ago"):
        assert order(question, other, named) == ["a", "b"]


def test_the_turn_after_a_question_comes_before_the_one_ahead_of_it() -> None:
    """Who answers lends more from who asks than who spoke before; only right after, and only within its file."""
    asks = replace(candidate("Ann: which tea do you like?", 5), cosine=0.7, late=0.25, late_context=0.25)
    before, after, later = candidate("Ben: hello", 4), candidate("Ben: the green one", 6), candidate("Ben: bye", 7)
    elsewhere = candidate("Ben: elsewhere", 6, "memory/b.md")
    found = {each.entry.text: each.ranked for each in results("tea", [before, asks, after, later, elsewhere])}
    answers = {text: ranked.part("answer") for text, ranked in found.items() if ranked.part("answer")}
    assert answers == {"Ben: the green one": pytest.approx(0.06)}
    assert found["Ben: the green one"].score > found["Ben: hello"].score
    says = replace(asks, entry=replace(asks.entry, text="Ann: I like tea"))
    assert not any(each.ranked.part("answer") for each in results("tea", [before, says, after]))
    note = candidate("the green one", 6)
    assert not any(each.ranked.part("answer") for each in results("tea", [asks, note]))


@pytest.mark.parametrize(
    ("question", "names"),
    [("What does ann like?", "Ann"), ("Ann's tea", "Ann"), ("Anna and the annex", ""), ("ben or Ann", "Ben, Ann")],
)
def test_who_is_named_is_preferred_among_equals(question: str, names: str) -> None:
    """By name and letter for letter; what was said by somebody else still wins where it is better."""
    ann, ben = candidate("09:30 Ann: tea", 9, "memory/x.md"), candidate("Ben Smith: tea", 0, "memory/a.md")
    parts = {speaker_of(each.entry.text): each.ranked.part("speaker") for each in results(question, [ann, ben])}
    assert {name for name, part in parts.items() if part} == {
        {"Ben": "Ben Smith"}.get(name, name) for name in names.split(", ") if name
    }
    better = replace(ben, cosine=0.9, late=0.9)
    assert order("What does Ann like?", ann, better)[0] == better.entry.text
    assert order("What does Ann like?", ben, ann)[0] == ann.entry.text


@pytest.mark.parametrize(
    ("text", "speaker"),
    [("09:30 Ann: tea", "Ann"), ("Ann tea", ""), ("main: done", ""), ("Оля: чай", "Оля"), ("安: お茶", "安"), ("", "")],
)
def test_who_speaks_is_read_off_the_turn(text: str, speaker: str) -> None:
    """A name in any script; what begins with a small letter is a role, such as an agent's id, and no name."""
    assert speaker_of(text) == speaker


def test_a_note_that_is_no_dialogue_lends_and_borrows_nothing() -> None:
    """Two items of a list that stand beside each other may be about anything."""
    match = replace(candidate("the kettle is new", 5), cosine=0.9, late=0.9)
    ranked = results("question", [match, candidate("paid the rent", 6)])
    assert [each.ranked.part("neighbour") for each in ranked] == [0.0, 0.0]


@given(st.integers(0, 20_000), st.floats(0.4, 0.9), st.sampled_from(EVERY_WEIGHT))
def test_age_takes_little_and_never_prefers_the_older(days: int, part: float, weights: Weights) -> None:
    """At most two per cent of a score; undated notes and today's lose nothing."""
    new, old = candidate("new", 0, "memory/x.md"), candidate("old", 0, "memory/y.md", TODAY - timedelta(days))
    undated = candidate("undated", 0, "MEMORY.md", None)
    candidates = [replace(each, cosine=part, late=part, late_context=part, bm25=part) for each in (old, undated, new)]
    ranked = results("question", candidates, weights)
    scores = {each.entry.text: each.ranked.score for each in ranked}
    assert scores["undated"] == scores["new"] >= scores["old"] >= 0.98 * scores["new"] - 1e-9


def test_without_a_floor_age_takes_everything() -> None:
    """The unbounded form of the systems that this one follows: half the score after a half-life."""
    weights = Weights(floor=0.0)
    fresh, old = (replace(candidate("x", day=day), cosine=0.7, late=0.7) for day in (TODAY, TODAY - timedelta(30)))
    [now], [then] = (results("q", [each], weights) for each in (fresh, old))
    assert then.ranked.score == pytest.approx(now.ranked.score / 2)


def test_the_parts_add_up_to_the_score() -> None:
    """Whoever asks why a note was found can be shown."""
    some = [replace(candidate(f"n {n}", n), cosine=0.1 * n, late=0.1 * n, bm25=1.0 * n) for n in range(8)]
    for each in results("in March", some):
        assert each.ranked.score == pytest.approx(sum(map(each.ranked.part, each.ranked.columns)))


def test_a_blend_is_the_sum_of_two_parts_alone() -> None:
    """0.7 of the cosine and 0.3 of the keywords' share: no neighbour, day or speaker counts; an identifier does."""
    some = [replace(candidate(f"Anna: n {n}", n), cosine=0.1 * n, late=0.9, bm25=8.0 - n) for n in range(8)]
    weights = structs.replace(blended(Blend(0.7, 0.3)), floor=1.0)
    for each in results("What did Anna say in the boat?", some, weights):
        n = each.entry.position
        assert each.ranked.score == pytest.approx(0.7 * 0.1 * n + 0.3 * (8.0 - n) / 8.0)
    held = replace(candidate("order QX-4471 is late", 9), cosine=0.0)
    assert results("where is QX-4471?", [*some, held], weights)[0].entry.position == 9


def test_equals_are_ordered_by_place_whatever_order_they_came_in() -> None:
    """The order in which the engine gives its candidates shows nowhere."""
    some = [candidate(f"{path} {n}", n, path) for path in ("b.md", "a.md") for n in (3, 1)]
    assert order("q", *some) == order("q", *reversed(some)) == ["a.md 1", "a.md 3", "b.md 1", "b.md 3"]


def test_nothing_found_ranks_as_nothing() -> None:
    """No candidates are no error."""
    assert order("question") == []


def thin(*texts: str) -> list[str]:
    return [
        each.entry.text
        for each in without_near_duplicates(candidate(text, number) for number, text in enumerate(texts))
    ]


def test_nobody_answers_their_own_question() -> None:
    """The line after a question answers it if somebody else says it."""
    asks = replace(candidate("Owner: when is tea?", 1), late=0.9)
    own, other = candidate("Owner: it rains", 2), candidate("Ben: at five", 2)
    assert [each.ranked.part("answer") for each in results("tea", [asks, own])] == [0, 0]
    assert any(each.ranked.part("answer") for each in results("tea", [asks, other]))


def test_a_question_for_a_day_alone_gets_that_day() -> None:
    """Whatever other days fit better; a question about something else only prefers the day."""
    that_day = candidate("tulips were yellow", day=date(2026, 3, 3))
    other = replace(candidate("what we did in March", 1), late=0.9, cosine=0.8)
    assert order("what did we do on 3 March?", that_day, other)[0] == that_day.entry.text
    assert order("what did we paint on 3 March?", that_day, other)[0] == other.entry.text


def test_a_message_in_the_notes_and_in_its_conversation_is_one_result() -> None:
    """Also if the notes have only a part of it; another message of the same day is another result."""
    whole, part = candidate("07:20 Ann: plumber came 7:25. who does that"), candidate("Ann (07:20): plumber came 7:25.")
    later = candidate("Ann (09:20): plumber came")
    found = without_near_duplicates([Result(each.entry, Ranked(0, 0, {})) for each in (whole, part, later)])
    assert [each.entry.text for each in found] == [whole.entry.text, later.entry.text]


def test_a_line_that_holds_now_is_no_repetition_of_a_copy_with_a_day() -> None:
    """It stays, below that too; a copy with a day repeats it, and it repeats another one without."""
    dated = candidate("the garage code is 6620", day=date(2026, 3, 3))
    undated, again = (candidate("the garage code is 6620", place, "MEMORY.md", None) for place in (1, 2))

    def kept(*some: Candidate) -> list[str]:
        found = without_near_duplicates([Result(each.entry, Ranked(0, 0, {})) for each in some])
        return [f"{each.entry.path} {each.entry.position}" for each in found]

    assert kept(dated, undated, again) == ["memory/a.md 0", "MEMORY.md 1"]
    assert kept(undated, dated, again) == ["MEMORY.md 1"]


def matching(found: Candidate, rank: float = 0.0) -> MatchingEntry:
    """A candidate with its rank."""
    return MatchingEntry(
        found.entry, 0.5, 0.5, 0.5, 0.5, 0.5, is_exact=False, rank=rank, subject=0.0, kind=LineKind.NOTE
    )


@pytest.mark.parametrize(
    ("note", "is_shown"),
    [
        ("the dentist is tomorrow (2026-03-05)", False),
        ("the dentist is on tuesday (2026-03-10)", True),
        ("the dentist is at 9 tomorrow (2026-03-05)", False),
        ("2026-03-05", True),
    ],
)
def test_an_order_is_no_result_beside_its_note(note: str, is_shown: bool) -> None:
    """Although a date was written beside "tomorrow"; an order to note something else stays."""
    order = candidate("Owner ordered: remember that the dentist is tomorrow", 1)
    found = without_noted_orders([matching(order), matching(candidate(note))])
    assert (order.entry in [each.entry for each in found]) == is_shown


def test_a_note_stands_at_the_place_of_the_order_to_write_it() -> None:
    """The order has the day that a question names, and the note in `MEMORY.md` has none."""
    order, other = candidate("Owner ordered: remember that Lina is allergic to penicillin", 1), candidate("tea", 2)
    note = candidate("Lina is allergic to penicillin", 3)
    found = without_noted_orders([matching(order, 3.0), matching(other, 2.0), matching(note, 1.0)])
    assert [(each.entry, each.rank) for each in found] == [(note.entry, 3.0), (other.entry, 2.0)]


def test_two_lines_that_copies_in_two_files_show_together_are_shown_once() -> None:
    """One file gives the first with what follows, the other the second with what came before; alone, both stay."""
    left = candidate("10:55 Owner: the chief leaves", path="memory/a.md")
    gone = candidate("Owner (11:42): no more Arvid", path="sessions/a.jsonl")
    said, again = candidate("Owner (10:55): the chief leaves").entry, candidate("11:42 Owner: no more Arvid").entry
    first, second = (
        structs.replace(matching(left), after=again),
        structs.replace(matching(gone), before=said),
    )
    assert list(shown_once([first, second])) == [first]
    assert list(shown_once([matching(left), second])) == [matching(left), second]


def test_a_repetition_is_left_out_and_a_difference_is_kept() -> None:
    """The same words at another time of day say nothing new; another number, id or word does."""
    assert thin("07:00 ran along the river", "07:30 Ran along the river.", "ran along the canal") == [
        "07:00 ran along the river",
        "ran along the canal",
    ]
    amounts = ["paid 50 for the big blue kettle in town", "paid 70 for the big blue kettle in town"]
    assert thin(*amounts) == amounts
    assert thin("AB-1 is done", "AB-2 is done") == ["AB-1 is done", "AB-2 is done"]


def test_relevance_is_the_mean_of_what_is_known() -> None:
    """Without token vectors or without any, the rest decides; it stays within 0 and 1."""
    cosine, late, matched = np.array([[0.6, 0.3, 0.9], [0.6, 0.0, 0.8], [0.0, 0.0, 0.8], [-0.9, 0.0, 0.0]]).T
    assert relevance(cosine, late, matched) == pytest.approx(np.array([0.6, 0.7, 0.8, 0.0]))


def test_what_people_said_is_above_what_an_agent_answered() -> None:
    """Although the answer fits better; it is first if the question asks for it."""
    said = replace(candidate("10:00 Owner: the quota is 1,200 calls", 0, "memory/x.md"), cosine=0.6, late=0.5)
    answered = replace(candidate("10:01 main answered: a quota of 1,200 calls is plenty", 9), cosine=0.7, late=0.6)
    assert order("what is the quota of calls", said, answered) == [said.entry.text, answered.entry.text]
    assert order("what did you say about the quota", said, answered) == [answered.entry.text, said.entry.text]


def test_only_results_with_the_same_figures_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty results, twenty with a number each, the others alone: 190 pairs instead of 780."""
    pairs = counted(monkeypatch, "workspaces.memory.index.repetitions._overlap")
    names = [f"{chr(97 + number)}{chr(98 + number)}x" for number in range(20)]
    texts = [
        *(f"the {name} costs {50 + number}" for number, name in enumerate(names)),
        *(f"a {name}" for name in names),
    ]
    found = list(without_near_duplicates(candidate(text, number) for number, text in enumerate(texts)))
    assert len(found) == len(texts)
    assert len(pairs) == 190
