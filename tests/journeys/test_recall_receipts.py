"""Long conversations with planted facts, each ended by `/new`: every fact comes back, and the receipt says so."""

import json
import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from gateway.control.status_wire import StatusOrder
from gateway.control.wire import SearchOrder
from gateway.home import Home
from tests.journeys.house import make_home
from tests.journeys.test_what_you_tell import Terminal, started

FILLERS = (
    "the tulips look sad again",
    "ok thanks",
    "How is the weather?",
    "we had soup and it was too salty but the kids ate it anyway",
    "lol",
    "I slept badly, the neighbours moved furniture until late",
    "can you believe how slow the bus is on mondays",
    "haha yes",
    "the washing machine makes that noise again, the third time this month",
)
NAMES = ("Farouk", "Ingeborg", "Tomasz", "Oluwaseun", "Yuki", "Marisol", "Dragan", "Fionnuala", "Zbigniew", "Anahera")
PLACES = ("Nyborg", "Aveiro", "Ghent", "Kaunas", "Tromsø", "Matera", "Plzeň", "Cork", "Izmir", "Rouen")
MONTHS = ("January", "March", "April", "June", "August", "October", "December")
COLOURS = ("red", "green", "oak", "brass", "folding", "borrowed", "tiny", "silver", "striped", "Danish")
THINGS = ("trailer", "tent", "accordion", "ladder", "projector", "kayak", "telescope", "sewing machine", "drill", "cot")
LEAST = {"identifier": 1.0, "name": 0.95, "number": 0.95, "date": 0.95}
CONVERSATIONS = [pytest.param(1, id="one"), pytest.param(50, id="fifty", marks=pytest.mark.nightly)]


def planted(dice: random.Random, thing: str) -> dict[str, tuple[str, str, str]]:
    """Return a sentence about *thing*, its fact and a question for it by kind."""
    code = "".join(dice.choices(string.ascii_uppercase, k=2)) + f"-{dice.randrange(1000, 9999)}"
    name, place = dice.choice(NAMES), dice.choice(PLACES)
    day = f"{dice.randrange(1, 28)} {dice.choice(MONTHS)}"
    price = str(dice.randrange(111, 999))
    return {
        "identifier": (
            f"btw the guarantee number of the {thing} is {code}, keep it",
            code,
            f"{thing} guarantee number",
        ),
        "name": (f"i lent the {thing} to {name} from {place}", name, f"who has our {thing}?"),
        "number": (f"they want {price} euros for repairing the {thing}", price, f"what does the {thing} repair cost?"),
        "date": (f"so the {thing} must be back in {place} by {day}", day, f"when is the {thing} due back?"),
    }


async def told(terminal: Terminal, dice: random.Random, thing: str) -> dict[str, tuple[str, str, str]]:
    """Talk for forty messages, the facts somewhere among them, and end the conversation."""
    facts = planted(dice, thing)
    said = dice.choices(FILLERS, k=36)
    for sentence, _, _ in facts.values():
        said.insert(dice.randrange(len(said)), sentence)
    for text in said:
        await terminal.say(text)
    assert "facts findable" in await terminal.say("/new")
    return facts


def receipts(home: Home) -> list[dict[str, int]]:
    """Return the receipts in the transcripts of ended conversations."""
    files = sorted(home.agent("main").sessions.rglob("*.jsonl"))
    records = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [record["entry"] for record in records if record["type"] == "recall"]


@pytest.mark.parametrize("conversations", CONVERSATIONS)
async def test_every_planted_fact_comes_back(tmp_path: Path, conversations: int) -> None:
    """Each is searched for in other words than its own, while other conversations hold facts of the same kind."""
    dice, home = random.Random(conversations), make_home(tmp_path / "home")
    async with started(home) as terminal:
        things = dice.sample([f"{colour} {thing}" for colour in COLOURS for thing in THINGS], conversations)
        facts = [await told(terminal, dice, thing) for thing in things]
    found, asked = Counter[str](), Counter[str]()
    async with started(home) as terminal:
        told_last = (await terminal.app.operator.ask(StatusOrder())).agents[0].recall
        assert re.search(r"facts findable(?:, \d+ of them noted word for word)? on 20\d\d-", told_last)
        for planted_facts in facts:
            for kind, (sentence, value, question) in planted_facts.items():
                rest = sentence.replace(value, "")
                asked[kind] += 1
                for query in (rest, question):
                    hits = (await terminal.app.operator.ask(SearchOrder(query))).hits
                    if any(value in hit.snippet for hit in hits):
                        found[kind] += 1
                        break
    shares = {kind: found[kind] / asked[kind] for kind in LEAST}
    counted = receipts(home)
    print(shares, [(each["found"], each["asked"], each["took_ms"]) for each in counted])
    assert {kind: share for kind, share in shares.items() if share < LEAST[kind]} == {}
    assert len(counted) >= conversations
    assert sum(each["found"] for each in counted) >= 0.95 * sum(each["asked"] for each in counted)
