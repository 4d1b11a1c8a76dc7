"""Messages that people write in a world, and when: derived from its seed alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

OWNER = 7
BOB = 8
GROUP = -1
SECRET = "private-"
"""Begins each word that nobody but the owner may read."""


@dataclass(frozen=True, slots=True)
class Saying:
    """One message of a person."""

    at: float
    """Seconds of virtual time."""
    chat: int
    person: int
    number: int
    """0 for a command."""
    orders: tuple[str, ...] = ()
    command: str = ""

    @property
    def text(self) -> str:
        return self.command or " ".join([str(self.number), *self.orders])


def note_of(number: int, chat: int) -> str:
    """Return what message *number* wants noted."""
    return f"noted-for-{number}. {SECRET if chat == OWNER else 'public-'}{number}"


def answer_to(numbers: Sequence[int]) -> str:
    """Return the answer to messages of these numbers, answered together."""
    return f"Done with {', '.join(map(str, numbers))}."


def numbers_in(text: str) -> list[int]:
    """Return the numbers of the messages that a text answers."""
    found = _ANSWER.search(text)
    return [int(each) for each in found[1].split(", ")] if found else []


_ANSWER = re.compile(r"^Done with (\d+(?:, \d+)*)\.", re.MULTILINE)


def write_script(choices: Random) -> list[Saying]:
    """Return some hours of talk in a direct chat and a group."""
    script: list[Saying] = []
    at, number = 60.0, 0
    for _ in range(choices.randint(2, 5)):  # bursts, with hours between some of them
        for _ in range(choices.randint(1, 6)):
            number += 1
            script.append(_saying(at, number, choices))
            at += choices.choice([0.0, 0.01, 0.5, 3.0, 40.0]) * choices.random()
        if choices.random() < 0.3:
            command = choices.choice(["/stop", "/new", "/new", "/approve", "/approve"])
            chat = OWNER if command == "/approve" else choices.choice([OWNER, OWNER, GROUP])
            script.append(Saying(at, chat, OWNER, 0, command=command))
        at += choices.choice([5.0, 120.0, 900.0, 5_000.0, 12_000.0]) * choices.random()
    return script


def _saying(at: float, number: int, choices: Random) -> Saying:
    chat = choices.choice([OWNER, OWNER, GROUP])
    person = OWNER if chat == OWNER else choices.choice([OWNER, BOB])
    possible = (
        ["note", "write", "slow", "long", "steps", "skill"] if chat == OWNER else ["note", "slow", "long", "steps"]
    )
    orders = tuple(choices.sample(possible, choices.choice([0, 0, 1, 1, 2])))
    return Saying(at, chat, person, number, orders)
