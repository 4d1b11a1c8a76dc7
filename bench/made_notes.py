"""Generated notes and questions for benchmarks: deterministic, in any number."""

import random
from collections.abc import Iterator
from datetime import date, timedelta

TODAY = date(2026, 6, 30)
ENTRIES_A_DAY = 14


def words(text: str) -> list[str]:
    """Return the words of *text*."""
    return text.split()


PEOPLE = words(
    "Ada Bruno Chidi Dana Emre Farah Goran Hana Iris Jonas Kofi Lena Mina Nils Omar Petra Quinn Rosa Sven Tara"
)
VERBS = words("fixed moved ordered planned painted tested wrote sold found cleaned packed measured drew booked cooked")
THINGS = words(
    "bicycle garden invoice kitchen printer report boat engine piano lamp roof budget archive sensor "
    "ticket recipe violin telescope curtain battery passport fence parcel window tomato server bridge "
    "camera novel saddle"
)
PLACES = words(
    "Lisbon Oslo Kyoto Tallinn Bergen Porto Ghent Cork Turin Graz harbour office attic library station market"
)


def note(chance: random.Random, number: int) -> str:
    """Return one generated line of a daily note, about 20 words."""
    first, second = chance.sample(PEOPLE, 2)
    done, planned = chance.sample(VERBS, 2)
    one, two, three = chance.sample(THINGS, 3)
    return (
        f"{first} {done} the {one} near the {chance.choice(PLACES)} with {second} and {planned} a {two} "
        f"for {chance.randint(2, 900)} crowns, reference {number:06d}, before the {three} arrived"
    )


def daily_notes(entries: int) -> Iterator[tuple[date, str]]:
    """Yield days of 14 lines each with their text, going back from `TODAY`, until there are *entries* lines."""
    chance = random.Random(7)
    for day_number in range(-(-entries // ENTRIES_A_DAY)):
        day = TODAY - timedelta(days=day_number)
        numbers = range(day_number * ENTRIES_A_DAY, min((day_number + 1) * ENTRIES_A_DAY, entries))
        lines = "".join(f"- {9 + n % 9:02d}:{n % 60:02d} {note(chance, n)}\n" for n in numbers)
        yield day, f"# {day}\n\n{lines}"


def questions(count: int) -> Iterator[str]:
    """Yield *count* different questions of a dozen words."""
    chance = random.Random(11)
    for _ in range(count):
        yield (
            f"When did {chance.choice(PEOPLE)} work on the {chance.choice(THINGS)} "
            f"in {chance.choice(PLACES)} together with {chance.choice(PEOPLE)}?"
        )
