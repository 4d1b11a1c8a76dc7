"""Model that works through the orders of its messages, repeats each secret it is shown, and fails by the seed."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.errors import ModelRefusedError, ModelUnavailableError
from gateway.sessions.flush import PROMPT
from tests.fakes.model import call, says
from tests.simulation.script import SECRET, answer_to, note_of
from tests.simulation.world import World

_FILLER = "and a line of the long answer\n" * 40
_CALLS = {"note", "write", "steps", "skill"}
SKILL = "---\nname: plan-{0}\ndescription: Plans of message {0}.\n---\nPlan.\n"


class Secretary:
    """Implements `Model`."""

    name = "secretary"
    window_tokens = 128_000

    def __init__(self, world: World) -> None:
        self._world = world

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        entries = list(request.entries)
        begin = max(i for i, each in enumerate(entries) if isinstance(each, UserEntry) and not each.joins)
        asked = entries[begin]
        if isinstance(asked, UserEntry) and asked.text.startswith(PROMPT):
            await self._think(0)
            return says("NO_REPLY") if entries[begin + 1 :] else says("", call("add_note", text="saved at the end."))
        orders = [words for each in entries[begin:] if isinstance(each, UserEntry) if (words := _orders(each))]
        numbers = [int(words[0]) for words in orders]
        wanted = [(int(words[0]), order) for words in orders for order in words[1:]]
        await self._think(numbers[0] if numbers else 0, is_slow=any(order == "slow" for _, order in wanted))
        if not numbers:
            return says("NO_REPLY")
        calls = [(number, order) for number, order in wanted if order in _CALLS]
        done = sum(isinstance(each, ResultEntry) for each in entries[begin:])
        if done < len(calls):
            return self._call(*calls[done], done)
        seen = sorted(set(re.findall(rf"{SECRET}\w+", request.stable + _talk(entries))))
        text = answer_to(numbers) + (f" I know {' '.join(seen)}." if seen else "")
        text += f"\n\n{_FILLER}" if any(order == "long" for _, order in wanted) else ""
        for word in text.split(" ")[:5]:
            await on_text(word)
        return says(text)

    def _call(self, number: int, order: str, place: int) -> ReplyEntry:
        match order:
            case "note":
                wanted = call("add_note", text=note_of(number, self._world.chat_of(number)))
            case "write":
                wanted = call("write_file", path=f"plans/{number}.md", content=f"# Plan {number}\n" + "a line\n" * 40)
            case "skill":
                wanted = call("write_file", path=f"skills/plan-{number}/SKILL.md", content=SKILL.format(number))
            case _:
                wanted = call("list_files")
        return says("", replace(wanted, id=f"call_{number}_{place}_{self._world.fresh()}"))

    async def _think(self, number: int, *, is_slow: bool = False) -> None:
        world, choices = self._world, self._world.faults
        await asyncio.sleep(choices.uniform(5, 200) if is_slow else choices.uniform(0.05, 4))
        if world.is_calm or choices.random() >= world.model_fails:
            if number in world.failed:
                world.mark("a model that failed answers at the next try")
            return
        world.failed.add(number)
        world.note(f"model fails {number}")
        if choices.random() < 0.1:
            world.mark("a model hangs")
            await asyncio.sleep(choices.uniform(100, 2_000))
        raise choices.choice(
            [ModelUnavailableError("down"), ModelUnavailableError("busy", 20), ModelRefusedError("no")]
        )

    async def close(self) -> None:
        """Nothing to release."""


def _orders(entry: UserEntry) -> list[str]:
    words = entry.text.split("\n")[-1].split()
    return words if words and words[0].isdecimal() else []


def _talk(entries: Sequence[Entry]) -> str:
    return "\n".join(each.text for each in entries if not isinstance(each, CallStartEntry))
