"""The line that changed what the best result says, in other words than the question's."""

from dataclasses import replace

import pytest

from tests.fakes.counted import counted
from tests.workspaces.memory.test_assembly import NEW, OLD, TODAY, hit
from workspaces.memory.hits import Hit
from workspaces.memory.successors import answering, with_successor

OTHER = hit("The boat is green", OLD, 7)
JUDO = hit("ida has judo on mondays", OLD)


def found(question: str, older: str, newer: str) -> list[str]:
    """Return the results for *question* of which *older* is the best; *newer* is near that."""
    hits = [hit(older, OLD), OTHER]
    best = answering(hits, question, TODAY)
    shown = with_successor(hits, best, [hit(older, OLD), hit(newer, NEW)], question) if best else hits
    return [each.snippet for each in shown]


CHANGED = [
    (
        "when is Ida's judo?",
        "ida has judo on mondays at 4, fran teaches",
        "the little one got shifted to fridays at 5, fran is away",
    ),
    (
        "how much of the drops does the cat get?",
        "cat was at dr Orlov's, three drops at night",
        "orlov rang, too many, now only two from tonight",
    ),
    (
        "where did we put the shed key?",
        "the shed key hangs on the hook behind the barrel",
        "barrel got stolen!! the hook and all. it's at the Nyes' now, the key",
    ),
    ("what is the code of the bike room?", "bike room is 4471, told by the janitor", "janitor changed it again, 8026"),
    (
        "when is nans 80th?",
        "mum wants me home for nans 80th, 17 oct",
        "nans party moved to sat 24th cause of the venue",
    ),
    ("deadline of the essay", "the essay is due on 3 May, says Orlov", "orlov gave me a week more, 10 May, after all"),
    ("what will I pay the landlord?", "landlord texted, 835 from June", "landlord backed down!! well a bit, 810"),
    (
        "where is the picnic?",
        "she thinks of the picnic in Ely, at the weir",
        "picnic's off in Ely, all full. Bath, same weekend, by the weir",
    ),
    ("when is dad's operation?", "dad gets his operation on 17 June", "dad rang, it's a day earlier"),
    ("code for Bea's workshop?", "the alarm code is 4471", "they changed the numbers on the door at Bea's, 8026 now"),
]


@pytest.mark.parametrize(("question", "older", "newer"), CHANGED)
def test_a_later_line_that_shares_a_word_with_the_answer_stands_above_it(question: str, older: str, newer: str) -> None:
    """It says that something changed and gives what is asked for, in no word of the question."""
    assert found(question, older, newer) == [newer, older, OTHER.snippet]


@pytest.mark.parametrize(
    ("question", "older", "newer", "after"),
    [
        ("how much does the brewery owe?", "Nye's brewery owes 640", "Nye paid!!", "hang on, half. so 320 now"),
        (
            "when is the rehearsal?",
            "rehearsal at Skopik's on the 30th",
            "skopik rang, closed",
            "so it's on the 31st now",
        ),
    ],
)
def test_the_line_after_one_that_shares_a_word_may_give_the_value(
    question: str, older: str, newer: str, after: str
) -> None:
    """Somebody goes on: the first line names the thing, and the next says what holds now. Both are shown."""
    hits, after = [hit(older, OLD), OTHER], f"Owner (11:40): {after}"
    best = answering(hits, question, TODAY)
    assert best
    shown = with_successor(hits, best, [hit(older, OLD), replace(hit(newer, NEW), after=after)], question)
    assert [each.snippet for each in shown] == [newer, older, OTHER.snippet]
    assert shown[0].after == after


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("when does the rent go up?", "rent goes up only from April", "the clinic moved mum to 9 April"),
        ("what is the garage code?", "garage code is 9025", "garage spring was replaced, invoice G-20417"),
        (
            "how much is Tess's ticket?",
            "tess pays 90 for the ticket",
            "tess can't come after all, it's mom's 90th then",
        ),
        ("how many seats has the van?", "the van is Mike's", "mike swapped shifts, 12 hours now"),
        ("what is the project code?", "project code is FLU-0932", "new alarm code after the break-in: 7140"),
        ("when is Emil's piano?", "emil has piano on thursdays", "emil plays the entertainer now"),
        ("how much do I owe Katrin?", "i owe Katrin 85 euros", "garage guys replaced the spring, 210 euros"),
        ("where is the long ladder?", "the ladder stands behind the barrel", "barrel is empty now"),
        ("when does the bus to Graz leave?", "bus to Graz leaves at 9:10", "bus to Linz leaves at 10:40 now"),
        (
            "when is the boiler looked at?",
            "i want the boiler looked at on Tuesday",
            "jen wants her party moved to Friday",
        ),
        (
            "when is Ida's judo?",
            "ida has judo on mondays, miss pell teaches",
            "miss pell wants her to sing on Friday at 5",
        ),
    ],
)
def test_news_of_another_thing_moves_nothing(question: str, older: str, newer: str) -> None:
    """A day, a unit or a word of change in common, another form of code, no value of the kind, or no change at all."""
    assert found(question, older, newer) == [older, OTHER.snippet]


def test_the_words_of_others_move_nothing_above_the_owners_own() -> None:
    """A forwarded "the account was changed" stands where the search found it; beside others' words it counts."""
    question, older, newer = CHANGED[0]
    own, forwarded = hit(older, OLD), replace(hit(newer, NEW), is_others=True)
    assert with_successor([own], own, [forwarded], question) == [own]
    theirs = replace(own, is_others=True)
    assert [each.snippet for each in with_successor([theirs], theirs, [forwarded], question)] == [newer, older]


def test_a_long_line_is_read_by_its_sentences() -> None:
    """What changed and what is shared must stand in one of them; the same words elsewhere in the line are no tie."""
    question, older = "when is Ida's judo?", "ida has judo on mondays at 4, miss pell teaches"
    rest = (
        "Grandpa baked pancakes. We had soup with barley, and the neighbour told us about her cousin's boat trip to the"
    )
    rest += " seven windy islands in early spring, with photographs."
    other = f"{rest} The dentist moved me to Friday at 9. Miss Pell came for tea and brought rhubarb cake with cream."
    assert found(question, older, other) == [older, OTHER.snippet]
    same = f"{rest} Miss Pell moved her to Friday at 5. The dentist came for tea and brought rhubarb cake with cream."
    assert found(question, older, same) == [same, older, OTHER.snippet]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("when was Ida's judo on 3 May?", JUDO),
        ("when was Ida's judo before?", JUDO),
        ("when did Ida begin with judo?", JUDO),
        ("Ida's judo", JUDO),
        ("who teaches Ida's judo?", JUDO),
        ("when is Ida's judo?", replace(JUDO, score=0.39)),
        ("when is Ida's judo?", replace(JUDO, date=None)),
        ("when is Ida's judo?", replace(JUDO, is_answer=True)),
    ],
)
def test_some_results_have_no_successor(question: str, best: Hit) -> None:
    """The past, a person or no kind of answer is asked for; the result may not fit, holds now, or is an agent's."""
    assert answering([best], question, TODAY) is None
    assert answering([], question, TODAY) is None


def test_lines_from_before_the_best_result_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty near it, none of which came later, not one can have changed it."""
    read = counted(monkeypatch, "workspaces.memory.updates.sentences_in")
    best = hit("ida has judo on mondays", NEW)
    near = [hit(f"ida had judo lesson {number} on a friday", OLD, number) for number in range(20)]
    assert with_successor([best], best, near, "when is Ida's judo?") == [best]
    assert len(read) == 1
