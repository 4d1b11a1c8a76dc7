"""Which of two sentences replaces the other, by rule."""

import re
import tracemalloc
from datetime import date, timedelta

import pytest

from workspaces.lazy_pattern import LazyPattern
from workspaces.memory.text import claim_words
from workspaces.memory.text.claims import Claim, Relation, claims_in, corrected, relation
from workspaces.memory.text.values import may_give

REPLACED = [
    ("The staging port is 5432", "The staging port is 5433 now."),
    ("Ann lives in Berlin.", "Ann moved to Hamburg."),
    ("The project deadline is 1 April 2026.", "The project deadline moved to 5 April 2026."),
    ("My phone number is 0151 2345678", "My new phone number is 0151 9876543"),
    ("The rent is 850 €", "Since June the rent is 910 €."),
    ("Our API quota is 1,000 calls per day", "Our API quota is 1,200 calls per day"),
    ("The meeting with Carla is on Tuesday at 10:00", "The meeting with Carla was moved to Thursday at 10:00"),
    ("We use Postgres 14", "We use Postgres 16 now"),
    ("The wifi password is heron-4711", "The wifi password is heron-4712"),
    ("Max works at Siemens", "Max works at Bosch since May"),
    ("Der Zahnarzttermin ist am 3. März", "Der Zahnarzttermin ist jetzt am 10. März"),
    ("I drink coffee every morning", "I no longer drink coffee"),
    ("The exam is in May", "They moved the exam to June"),
    ("The meeting with Carla is on Tuesday at 10:00", "The meeting with Carla on Tuesday is an hour later, 11:00"),
    ("The number of booked seats is 40", "The number of booked seats goes down to 36"),
]
MONTH = """
Ran 5 km along the river. | Ran 7 km along the river. | Ran 6 km in the rain.
Paid 40 € for groceries. | Paid 55 € for groceries. | Paid 12 € for lunch with Ann.
Ann's birthday is on 3 May. | Max's birthday is on 7 June. | Carla's birthday is on 9 June.
Server alpha has port 80. | Server beta has port 81. | Server gamma has port 82.
Invoice 4711 is paid. | Invoice 4712 is open. | Invoice 4713 is paid.
Meeting with Ann at 10:00. | Meeting with Ann at 14:00. | Meeting with Max at 14:00.
Ann likes Berlin. | Ann likes Paris. | Max likes Rome.
We use Postgres for orders. | We use Redis for sessions. | We also use Kafka.
Ann works on Falcon. | Max works on Heron. | Carla works on Falcon.
The train to Bonn leaves at 8:15. | The train to Bonn leaves at 9:40. | The train to Ulm leaves at 7:02.
The ticket is LT-2093. | The ticket is LT-2094. | LT-2095 is about the login.
Anna has 2 cats. | Anna has 1 dog. | Max has 3 children.
Dentist on 3 March. | Dentist on 9 September. | Haircut on 4 March.
I speak German. | I also speak French. | Max speaks Polish.
Slept 7 hours. | Slept 6 hours. | Slept 8 hours, felt well.
Called Max about the boat. | Called Ann about the boat. | Max called about the house.
Ann's phone number is 0151 111222. | Ann's office number is 0221 333444. | Max's phone number is 0151 555666.
The red boat is 6 m long. | The blue boat is 8 m long. | The green boat is for sale.
Lunch with Ann in Bonn. | Lunch with Ann in Köln. | Dinner with Max in Bonn.
Read 30 pages of the history book. | Read 45 pages of the history book. | Started the novel.
Der Garten ist 200 m² groß. | Die Wohnung ist 80 m² groß. | Das Haus in Ulm ist 120 m² groß.
Heute 12 Grad und Regen. | Heute 9 Grad und Sonne. | Heute 15 Grad.
The blue key opens the cellar. | The red key opens the garage. | The spare key is with Ann.
Today I weighed 72 kg. | Today I weighed 71 kg. | Today I weighed 73 kg.
""".strip()


@pytest.mark.parametrize(
    "text",
    [
        *MONTH.replace("|", "\n").split("\n"),
        "dinner is on friday",
        "we return in march",
        "seven apples each",
        *(each for pair in REPLACED for each in pair),
    ],
)
def test_values_are_read_only_where_they_may_matter(text: str) -> None:
    """Without reading them it is known which words a subject has in any case, and of which kinds there are none."""
    for claim in claims_in(text):
        assert claim.plain <= claim.subject
        assert all(may_give(each.kind, claim.sentence) for each in claim.values)


def test_lines_about_different_things_have_no_values_read() -> None:
    """To read them took half of the time in which lines are compared."""
    (one,), (other,) = claims_in("Ann fixed the bicycle for 5 euros"), claims_in("Ann moved the piano for 7 euros")
    assert relation(one, other) is None
    assert "values" not in vars(one) | vars(other)


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_a_new_value_of_a_thing_that_has_one_replaces_the_old(older: str, newer: str) -> None:
    """Number, date, identifier, name and state, with and without a word of change."""
    (before,), (after,) = claims_in(older), claims_in(newer)
    assert relation(before, after, date(2026, 2, 1)) is Relation.REPLACES


@pytest.mark.parametrize(
    ("older", "newer", "is_replaced"),
    [
        (
            "the deadline is 18 January, they pay 0.11 per word",
            "oh wait, sorry, the deadline moved to 25 January",
            True,
        ),
        ("The rent is 900 euros, it includes heating.", "The rent is now 950 euros, we pay it on the 3rd.", True),
        ("Max is our tenant, he pays 400 euros", "Ann is our tenant, she pays 500 euros now", False),
        ("If the shop is closed, we order at 17:00", "If the shop is open, we order at 18:00 now", False),
    ],
)
def test_a_thing_is_told_from_what_is_said_of_it_beside(older: str, newer: str, is_replaced: bool) -> None:
    """Of two statements with a comma between, the first stands for itself; the second keeps what "it" is."""
    found = {relation(one, two, date(2026, 2, 1)) for one in claims_in(older) for two in claims_in(newer)}
    assert (Relation.REPLACES in found) is is_replaced


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Mias Kurs kostet 80 Euro", "Leons Kurs kostet 95 Euro"),
        ("Der Kurs von Mia kostet 80 Euro", "Der Kurs von Leon kostet 95 Euro"),
        ("my locker is number 12", "Tom's locker is number 14"),
        ("mein Spind hat die Nummer 12", "Toms Spind hat die Nummer 14"),
        ("the code of my mother's door is 4417B", "the code of our door is 9921B"),
        ("La póliza de Ana cuesta 80 euros", "La póliza de Luis cuesta 95 euros"),
        ("her phone is 634118902", "his phone is 655301277"),
        ("Disc 3 has a drag of 1.17", "Disc 5 has a drag of 0.84"),
    ],
)
def test_the_thing_of_another_owner_replaces_nothing(older: str, newer: str) -> None:
    """Nor does another of several that have numbers."""
    (before,), (after,) = claims_in(older), claims_in(newer)
    assert relation(before, after, date(2026, 2, 1)) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Tom's locker is number 12", "Tom's locker is number 14"),
        ("Mias Kurs kostet 80 Euro", "Mias Kurs kostet jetzt 95 Euro"),
        ("our rent is 415 euros", "the rent is 440 euros now"),
        ("Iker toma baclofeno 10 mg", "Iker toma baclofeno 15 mg"),
        ("el código del portal de mi madre es 4417B", "el código del portal de mi madre es 9921B"),
    ],
)
def test_a_thing_of_the_same_owner_is_replaced(older: str, newer: str) -> None:
    """So is one of which the newer line does not say whose it is."""
    (before,), (after,) = claims_in(older), claims_in(newer)
    assert relation(before, after, date(2026, 2, 1)) is Relation.REPLACES


def test_of_a_month_of_notes_that_all_hold_hardly_a_line_is_called_replaced() -> None:
    """At most one line in twenty."""
    lines = [part.strip() for row in MONTH.splitlines() for part in row.split("|")]
    days = [date(2026, 3, 1) + timedelta(days=place // 3) for place in range(len(lines))]
    claims = [claims_in(line)[0] for line in lines]
    wrong = [
        (lines[old], lines[new])
        for old in range(len(lines))
        for new in range(old + 1, len(lines))
        if relation(claims[old], claims[new], days[new]) is Relation.REPLACES
    ]
    assert len(lines) == 72
    assert len({old for old, _ in wrong}) <= len(lines) * 0.05, wrong


@pytest.mark.parametrize(
    ("older", "newer", "how"),
    [
        ("The spare key is with Ann", "the spare key is with  Ann", Relation.REPEATS),
        ("The quota is 1,000 calls", "The quota is 1000 calls", Relation.REPEATS),
        ("I use Zotero for references", "I have never used Zotero", Relation.CONTRADICTS),
        ("The boat is green", "The port is 5433", None),
        ("The gym closes at 21:00", "The gym closes at 22:00", Relation.REPLACES),
        ("Choir practice starts at 7 pm every week", "Choir practice starts at 7:30 pm every week", Relation.REPLACES),
        ("Der Kiosk schließt um 18:00", "Der Kiosk schließt um 20:00", Relation.REPLACES),
        ("The meeting with Ann is at 10:00", "The meeting with Ann is at 11:00", Relation.DIFFERS),
        ("The gym closes at 21:00", "On Sunday the gym closes at 18:00", Relation.DIFFERS),
        ("On Monday the gym closes at 21:00", "On Sunday the gym closes at 18:00", Relation.DIFFERS),
    ],
)
def test_repetitions_and_contradictions(older: str, newer: str, how: Relation | None) -> None:
    """The same in other spelling, what one denies, other things, and clock times: of what recurs there is one."""
    assert relation(claims_in(older)[0], claims_in(newer)[0]) is how


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("The oven is broken, Rashid comes on Thursday", "Rashid can't make it Thursday, Monday instead", ["thu"]),
        ("The meeting with Ann is at 10:00", "Ann can't do 10:00, 11:00 instead", ["10:00"]),
        ("The staging port is 5432", "it's not 5432 any more, it is 5433", ["5432"]),
        ("Die Müllabfuhr kommt am Dienstag", "Die Müllabfuhr kommt nicht Dienstag, sondern Mittwoch", ["die"]),
        ("The dentist is on Tuesday", "Ann can't do Tuesday, Thursday instead", []),
        ("Rashid comes on Thursday", "Rashid comes on Thursday and on Monday", []),
        ("Rashid comes on Thursday", "Rashid called, he comes on Monday instead", []),
    ],
)
def test_a_correction_names_the_value_that_it_corrects(older: str, newer: str, values: list[str]) -> None:
    """And gives another of its kind; a second value, or a correction of something else, is none."""
    (before,), (after,) = claims_in(older), claims_in(newer)
    assert [each.normal for each in corrected(before, after)] == values


def test_claims_that_are_kept_take_little_memory() -> None:
    """A gateway of months reads ever new sentences: the kept ones take no more after 1,500 than after 600."""
    tracemalloc.start()
    try:
        held = []
        for number in range(1_500):
            claims_in(f"The port of server {number % 40} is {5000 + number // 40}, and Ann likes it.")
            held.append(tracemalloc.get_traced_memory()[0])
        assert held[-1] - held[600] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [name for name, each in vars(claim_words).items() if isinstance(each, LazyPattern)])
def test_words_of_claims_are_those_of_lower_case_text(name: str) -> None:
    """A capital letter in a pattern would never match, as claims are read in lower case."""
    words = re.sub(r"\\.|\(\?P<\w+>", "", getattr(claim_words, name).pattern)
    assert words == words.lower()


def test_letter_case_changes_no_claim() -> None:
    """A heading in capitals is read as the same words in small letters: its state, its change, its denial."""
    for sentence in ("the rent is now 910 euros", "i have never been to oslo", "wir nehmen jetzt nicht mehr den bus"):
        [small], [large] = claims_in(sentence), claims_in(sentence.upper())
        assert (small.is_state, small.changes, small.denies) == (large.is_state, large.changes, large.denies)


def test_words_of_values_are_held_and_values_are_read_for_nothing_else() -> None:
    """A unit, a clock time and a home count as words of a sentence; without a trace of one its values are not read."""
    for sentence, stem in (("we need 5kg of flour", "kg"), ("yoga is at 18:00", "time"), ("Ann moved to Graz", "live")):
        assert Claim(sentence).held(frozenset({stem, "piano"})) == {stem}
    claim = Claim("we need 5kg of flour")
    assert claim.held(frozenset({"flour", "piano"})) == {"flour"}
    assert "values" not in vars(claim)
