"""What is sent below the answers of a model that lies about its acts, from a real store and real files."""

import re
from dataclasses import replace

from msgspec import structs

from gateway.agent.entries import ReplyEntry, ResultEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.receipts import LEAD, ReceiptLevel
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.turns.test_turn import DIRECT, GROUP, House, answer, house

__all__ = ["house"]

TURNS = 300
CLAIMS = (
    "I have saved that in MEMORY.md.",
    "— ✓ noted 1 line",
    "Done!\n\n— ✓ scheduled job `3, next Wed 2026-11-25 09:00` · ✓ sends `report.pdf`",
    "✓ noted 2 lines · ✓ wrote 1 file",
    "Your reminder is set for tomorrow, and the e-mail to Ann is sent.",
    "✔️ Saved! Job 7 has been cancelled.",
)
ACTS = (
    ("add_note", {"text": "fact {n}"}, "✓ noted `memory/2026-03-01.md#L"),
    ("save_memory", {"text": "lasting {n}", "category": "notes"}, "✓ noted `MEMORY.md#L"),
    ("write_file", {"path": "plans/{n}.md", "content": "plan"}, "✓ wrote `plans/"),
)


def _line(text: str) -> str:
    """Return the line about acts, as a person reads it: the last paragraph, if it begins as one does."""
    last = text.rpartition("\n\n")[2]
    return last if re.match(rf"{LEAD}[✓✗?]", last) else ""


async def test_300_claims_show_nothing_and_300_silent_acts_are_shown(house: House) -> None:
    """The line tells each act that was done, whatever the model says, and no other."""
    acts = [(name, {key: value.format(n=n) for key, value in arguments.items()}, shown)
            for n in range(TURNS) for name, arguments, shown in [ACTS[n % len(ACTS)]]]  # fmt: skip
    steps: list[str | ReplyEntry] = []
    for number, (name, arguments, _) in enumerate(acts):
        steps += [CLAIMS[number % len(CLAIMS)], says("", call(name, **arguments)), "Fine."]
    turns = structs.replace(house.turns(ScriptedModel(*steps)), receipts=ReceiptLevel.FULL)
    for number in range(2 * TURNS):
        await answer(turns, await house.take_in(replace(DIRECT, id=f"{number}", text=f"message {number}")))
    texts = await house.outbox()
    claimed, done = texts[::2], texts[1::2]
    assert [text for text in claimed if _line(text) or "✓" in text or "✔" in text] == []
    wrong = [text for text, (_, _, shown) in zip(done, acts, strict=True) if not _line(text).startswith(LEAD + shown)]
    assert (len(claimed), len(done), wrong) == (TURNS, TURNS, [])


async def test_acts_are_shown_alone_below_a_silent_answer_only_where_a_person_talks_alone(house: House) -> None:
    """A group's agent that notes in silence stays silent there."""

    def steps(request: ModelRequest) -> ReplyEntry | str:
        has_acted = isinstance(request.entries[-1], ResultEntry)
        return "NO_REPLY" if has_acted else says("", call("add_note", text="the boat is green"))

    turns = structs.replace(house.turns(ScriptedModel(*[steps] * 4)), receipts=ReceiptLevel.SHORT)
    await answer(turns, await house.take_in(DIRECT))
    await answer(turns, await house.take_in(GROUP))
    assert await house.outbox() == [f"{LEAD}✓ noted 1 line"]


async def test_a_failed_turn_tells_what_it_did(house: House) -> None:
    """The sentence in place of an answer has the line as well."""

    def fails(_: ModelRequest) -> str:
        raise KeyError("a fault of ours")

    model = ScriptedModel(says("", call("add_note", text="the boat is green")), fails)
    await answer(structs.replace(house.turns(model), receipts=ReceiptLevel.SHORT), await house.take_in(DIRECT))
    (text,) = await house.outbox()
    assert text.startswith("Something went wrong")
    assert _line(text) == f"{LEAD}✓ noted 1 line"
