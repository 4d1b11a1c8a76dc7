"""The order and the marks of search results that speak of the same thing."""

from datetime import date

import pytest
from msgspec import structs

from tests.fakes.counted import counted
from tests.workspaces.memory.text.test_claims import REPLACED
from workspaces.access import PRIVATE
from workspaces.memory.assembly import assembled
from workspaces.memory.hits import Hit
from workspaces.memory.text.claims import tells_change
from workspaces.memory.updates import DEPTH

OLD, NEW, TODAY = date(2026, 2, 1), date(2026, 2, 20), date(2026, 3, 1)


def hit(text: str, day: date | None, line: int = 1) -> Hit:
    """Return a hit of the notes of *day*."""
    path = f"memory/{day}.md" if day else "MEMORY.md"
    return Hit(path, line, line, text, "", day, PRIVATE, 0.9, 0.9, 0.9, 0.9, 0.9)


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_the_newer_value_stands_above_the_older_one(older: str, newer: str) -> None:
    """Each with its mark, wherever the search had found them, and nothing else moves."""
    other = hit("The boat is green.", OLD, 7)
    found = assembled([hit(older, OLD), other, hit(newer, NEW)], " ".join(older.split()[:4]), TODAY)
    assert [each.snippet for each in found] == [newer, older, other.snippet]
    assert [each.mark for each in found] == [f"now, since {NEW}", f"until {NEW}, now memory/{NEW}.md#L1-L1", ""]


@pytest.mark.parametrize(
    "question", ["What was the rent before?", "what was our old rent", "what did the rent use to be, originally?"]
)
def test_a_question_for_what_held_before_leads_to_it(question: str) -> None:
    """The value right before the one that holds is first, and those before it follow the latter."""
    first, then = hit("The rent is 900 a month", OLD), hit("The rent is now 950 a month", date(2026, 2, 10))
    now = hit("The rent is now 1,010 a month", NEW)
    found = assembled([first, now, then], question, TODAY)
    assert [each.snippet for each in found] == [then.snippet, now.snippet, first.snippet]
    assert assembled([first, now, then], "What is the rent?", TODAY)[0].snippet == now.snippet
    assert assembled([first, now, then], "What was the rent before the move?", TODAY)[0].snippet == now.snippet


def test_a_line_that_the_question_repeats_with_its_value_is_asked_for() -> None:
    """A newer line of some of its words and another number stands below it."""
    quoted = "Mina ordered the roof near the harbour with Petra and tested a saddle for 666 crowns"
    newer = hit("Petra painted the saddle near the harbour with Tara and moved a bridge for 824 crowns", NEW)
    newer = structs.replace(newer, similarity=0.4, matched=0.4)
    assert assembled([hit(quoted, OLD), newer], quoted.lower(), TODAY)[0].snippet == quoted


def test_what_may_both_hold_is_not_marked() -> None:
    """Nor is a line without a day, whose age nobody knows."""
    both = assembled([hit("Ann likes Berlin.", OLD), hit("Ann likes Paris.", NEW)], "What does Ann like?", TODAY)
    undated = assembled([hit("The port is 5432", None), hit("The port is 5433", NEW)], "port", TODAY)
    assert [each.mark for each in (*both, *undated)] == ["", "", "", ""]


def test_what_one_hit_denies_stands_beside_it() -> None:
    """Both are marked as contradicting."""
    never = hit("I have never used any citation management software like Zotero.", NEW)
    used = hit("I just downloaded Zotero to manage my citations.", OLD)
    others = [hit(f"The boat number {n} is green.", OLD, n) for n in range(9, 14)]
    found = assembled([never, *others, used], "Have I ever used Zotero or other citation management software?", TODAY)
    assert [each.snippet for each in found[:2]] == [never.snippet, used.snippet]
    assert [each.mark.split()[0] for each in found[:2]] == ["contradicts", "contradicts"]


@pytest.mark.parametrize(
    ("question", "order", "other"),
    [
        ("what did the chief say about AE2", "never start AE2 cold, the chief said it twice", "The chief paints AE2"),
        ("Nacho", "acuérdate de que Nacho ronca, nunca compartir habitación con él", "cumple de Nacho, 13 septiembre"),
        ("entrevistas disco", "nunca decir en entrevistas lo del disco", "el disco sale antes de las entrevistas"),
        ("Ann", "Ann has never been late", "Ann sings alto"),
    ],
)
def test_an_order_never_to_do_something_contradicts_nothing(question: str, order: str, other: str) -> None:
    """Nor does a denial for the question of a bare name, which leaves open what is denied."""
    found = assembled([hit(order, OLD), hit(other, NEW)], question, TODAY)
    assert [each.mark for each in found] == ["", ""]


def test_a_sentence_that_doubts_besides_still_affirms() -> None:
    """It stands beside the denial; an agent's advice, which shares more words with the question, does not."""
    never = hit("I've never taken a writing course or online classes.", NEW, 1)
    told = hit("I've enrolled in a writing course, but I'm not sure how to use what I learn.", OLD, 2)
    advice = structs.replace(
        hit("Assistant: Taking a writing course or online classes is a great step.", OLD, 3), is_answer=True
    )
    other = hit("The boat is green.", OLD, 4)
    asked = "Have I ever taken a writing course or online classes?"
    found = assembled([never, other, advice, told], asked, TODAY)
    assert [each.snippet for each in found[:2]] == [never.snippet, told.snippet]
    assert [each.mark != "" for each in found] == [True, True, False, False]


def test_a_code_of_nothing_named_replaces_no_code_of_a_named_thing() -> None:
    """It may be that of any other thing."""
    garage, some = hit("garage code is 4471", OLD), hit("the code is 9920", NEW)
    assert assembled([garage, some], "what is the code for the garage?", TODAY)[0].snippet == garage.snippet


def test_a_correction_stands_above_the_line_that_it_takes_back_and_older_ones() -> None:
    """It shares no word with the question; the line two below, or in another file, corrects nothing."""
    older = hit("Owner (11:20): parking behind the hall: gate code 4471", OLD)
    wrong, right = hit("Owner (11:20): gate code is new: 9036", NEW, 1), hit("Owner (11:21): no, sorry, 9063", NEW, 2)
    found = assembled([older, wrong, right], "gate code behind the hall", TODAY)
    assert [each.snippet for each in found] == [right.snippet, wrong.snippet, older.snippet]
    far = structs.replace(right, start_line=5, end_line=5)
    assert assembled([older, wrong, far], "gate code behind the hall", TODAY)[0].snippet != far.snippet


def test_what_is_asked_for_by_its_number_stands_first() -> None:
    """However many lines of the same form came after it; a question without its number gets the newest."""
    lines = [hit(f"On day {n} the code is K-{n:04}.", date(2026, 1, n)) for n in range(1, 29)]
    for question in ("K-0008", "what was the code K-0008 for?"):
        found = assembled([lines[7], *lines[:7], *lines[8:]], question, TODAY)
        assert found[0].snippet == lines[7].snippet
    assert assembled(lines, "what is the code?", TODAY)[0].snippet == lines[-1].snippet


def test_the_best_hits_stay_among_the_first_ten() -> None:
    """Many newer statements stand above an older one, and never hide what the search had found first."""
    older = hit("I write 1,200 words a week", OLD, 1)
    newer = [hit(f"I now write {n},000 words a week", date(2026, 2, n), n) for n in range(2, 26)]
    found = assembled([older, *newer], "How many words do I write a week?", TODAY)
    assert found[0].snippet == newer[-1].snippet
    assert older.snippet in {each.snippet for each in found[:10]}
    assert len(found) == len({each.citation for each in found}) == 25


def test_all_parts_of_an_agents_answer_give_no_value() -> None:
    """Only the first part of a long one names the agent."""
    told = hit("The weekly target is 1,200 words", OLD, 1)
    answer = structs.replace(hit("Assistant: a plan for the weekly target", NEW, 2), is_answer=True)
    part = hit("the weekly target is now 500 words", NEW, 2)
    assert assembled([told, answer, part], "What is the weekly target?", TODAY)[0].snippet == told.snippet
    assert assembled([told, part], "What is the weekly target?", TODAY)[0].snippet == part.snippet


def test_a_question_whether_something_ever_was_asks_for_no_newest_value() -> None:
    """All denials stand first, then what they deny, however much else has a newer value."""
    never = [hit(f"I have never handled {'any ' * n}request in this project.", OLD, n) for n in (1, 2)]
    told = [hit(f"I handled a request {'and ' * n}so on in this project.", NEW, n) for n in range(3, 12)]
    found = assembled([never[0], *told, never[1]], "Have I handled a request in this project?", TODAY)
    assert {each.snippet for each in found[:2]} == {each.snippet for each in never}
    assert all(each.mark.startswith("contradicts") for each in found[:10])


def test_no_hit_is_lost() -> None:
    """Whatever changes its place."""
    hits = [hit(f"The port is {n} now", date(2026, 1, 1 + n % 28), n) for n in range(1, 60)]
    assert sorted(each.start_line for each in assembled(hits, "port", TODAY)) == list(range(1, 60))


@pytest.mark.parametrize(
    ("question", "marks"),
    [
        ("When does Rashid come?", [f"now, since {NEW}", f"until {NEW}, now memory/{NEW}.md#L1-L1"]),
        ("Where does Rashid come from?", ["", ""]),
        ("What is Rashid's phone number?", ["", ""]),
    ],
)
def test_a_correction_counts_for_the_kind_of_value_that_it_corrects(question: str, marks: list[str]) -> None:
    """Another day says nothing of a place or a telephone number."""
    older = hit("The technician Rashid, 0478 229 103, comes on Thursday", OLD)
    newer = hit("Rashid can't make it Thursday, Monday instead", NEW)
    found = assembled([older, newer], question, TODAY)
    assert [each.mark for each in found] == marks
    assert (found[0] == older) is not any(marks)


@pytest.mark.parametrize(("newer", "is_newer_first"), [("the new sprint deadline", True), ("a new bus", False)])
def test_the_new_one_is_news_of_the_old_one(newer: str, is_newer_first: bool) -> None:
    """The word "new" alone says something of another thing."""
    question = "What is the deadline for the first sprint of the layout, the menu and the navigation?"
    older = hit("the deadline for the first sprint of the layout is 1 April", OLD)
    news = structs.replace(hit(f"I plan for {newer} of 5 April, a sprint away", NEW), score=0.6)
    found = assembled([older, news], question, TODAY)
    assert (found[0] == news) is is_newer_first


def test_what_a_clause_denies_says_nothing_of_the_next() -> None:
    """Nothing is known of the door, but the roof is affirmed, so a correction of that is read."""
    older = hit("Lau says nothing of the door but the roof gets mended in August", OLD)
    newer = structs.replace(hit("Lau says the roof is mended not in August but in October", NEW), score=0.3)
    assert assembled([older, newer], "When is the roof mended?", TODAY)[0].snippet == newer.snippet


@pytest.mark.parametrize(
    ("question", "is_corrected"),
    [
        ("How many copies did we order?", True),
        ("How much was the deposit?", False),
        ("What is the order number?", False),
    ],
)
def test_a_correction_counts_for_the_number_that_is_asked_for(question: str, is_corrected: bool) -> None:
    """Of several in a line, the one whose noun the question names."""
    older = hit("Ordered 34 copies with a deposit of 200 €, order number NV-40718-B", OLD)
    newer = hit("The copies arrived, 33 not 34", NEW)
    found = assembled([older, newer], question, TODAY)
    assert (found[0].snippet == newer.snippet, bool(found[0].mark)) == (is_corrected, is_corrected)


def test_thirty_lines_are_compared_by_one_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of change and kinds of answers are looked for once a line, and what a person says has no kind of speech."""
    asked = counted(monkeypatch, "workspaces.memory.updates.holds")
    spoken = counted(monkeypatch, "workspaces.memory.text.dialogue.kind_of_speech")
    days = [date(2026, 1, number) for number in range(1, 31)]
    lines = [hit(f"Owner (21:17): the garden gate {place} was painted today", day) for place, day in enumerate(days)]
    before = tells_change.cache_info().misses
    assert len(assembled(lines, "When was the garden gate painted?", TODAY)) == len(lines)
    assert tells_change.cache_info().misses - before <= len(lines)
    assert len(asked) <= DEPTH
    assert len(spoken) == 0


def test_only_what_replaces_a_line_moves_above_it() -> None:
    """Other newer lines stay where they fit, although the line is marked as replaced."""
    first, now = hit("The rent is 900 a month", OLD), hit("The rent is now 950 a month", NEW)
    boat, choir = hit("The boat is green", NEW, 7), hit("Ann sings in a choir", NEW, 8)
    found = assembled([first, boat, choir, now], "What is the rent?", TODAY)
    assert [each.snippet for each in found] == [now.snippet, first.snippet, boat.snippet, choir.snippet]
