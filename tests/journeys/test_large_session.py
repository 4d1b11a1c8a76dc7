"""A session of 10,000 messages and 50 MB is summarised once, to the end, and its turns stay quick."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from tests.fakes.clock import START
from tests.fakes.keeping import KeepingModel, notes
from tests.gateway.commands.house import House, open_house

TURNS = 5_000
"""Each a message and an answer, with one result of a tool: every thousandth larger than the model's window."""
LARGEST = 600_000
ORDER = "Never sell the boat."


def turn(number: int) -> Iterator[Entry]:
    call = ToolCall(f"c{number}", "read_file", "{}")
    text = "q" * LARGEST if number % 1_000 == 0 else "z" * 16_000 if number % 2 else "short"
    said = ORDER if number == 17 else f"message {number} {'harbour ' * 30}"
    yield UserEntry(said, START, "", str(number))
    yield ReplyEntry("", (call,), "scripted", Usage())
    yield CallStartEntry(call.id)
    yield ResultEntry(call.id, "read_file", text, is_error=False)
    yield ReplyEntry(f"Answer {'boat ' * 60}", (), "scripted", Usage())


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(header(path.stem, START))
        for number in range(TURNS):
            at = START + timedelta(seconds=number)
            file.writelines(to_line(Record(TurnId(f"old{number}"), at, entry)) for entry in turn(number))


async def seconds_of_turns(house: House, count: int) -> list[float]:
    """Return how much processor time each turn took, which others on the machine do not lengthen, the longest last."""
    took = []
    for number in range(count):
        row = await house.take_in(f"next {number} {'harbour ' * 30}")
        start = time.process_time()
        await house.answer(row)
        took.append(time.process_time() - start)
        assert await house.answered(row) == "Yes."
    return sorted(took)


async def test_its_summary_ends_and_its_turns_are_quick(tmp_path: Path) -> None:
    """In parts that fit the window, with the order of long ago; then 100 ms at the 95th percentile, the model aside."""
    async with open_house(tmp_path) as house:
        house.model = model = KeepingModel(flush=notes("The boat."), window_tokens=128_000)
        path = house.sessions.path(house.key())
        write(path)
        size = path.stat().st_size
        assert size > 50_000_000
        house.clock.advance(TURNS)
        assert await house.says("Do you remember?") == "Yes."
        assert 1 < len(model.summaries) < 60
        for request in (*model.summaries, *model.flushes, *model.turns):
            shown = sum(len(getattr(entry, "text", "")) for entry in request.entries)
            assert shown < 3 * model.window_tokens
        assert ORDER in getattr(model.turns[-1].entries[0], "text", "")
        took = await seconds_of_turns(house, 40)
        assert took[37] <= 0.1
        assert path.stat().st_size > size
