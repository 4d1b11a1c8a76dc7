"""An agent sends files: what its turn may read, as it was then, to the chat that it answers and to no other."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from adapters.channel import Adapter, Quote
from gateway.agent.entries import ResultEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.tools.send import CAPTION_CHARS
from gateway.approvals.approvals import Approvals
from gateway.delivery.outgoing_files import MOST_A_TURN, Enclosures
from gateway.errors import ModelUnavailableError
from gateway.runtime.lanes import RetryLater
from gateway.stores.rows import Enclosure
from gateway.turns.turn import Turns
from tests.fakes.approvals import jobs_of
from tests.fakes.media import MediaAdapter
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.turns.test_turn import DIRECT, GROUP, MAIN, House, answer
from tests.gateway.turns.test_turn import house as house  # noqa: PLC0414  # a fixture


def sending(house: House, model: ScriptedModel, adapters: Mapping[tuple[str, str], Adapter] | None = None) -> Turns:
    turns = house.turns(model)
    planner = turns.planner
    enclosures = Enclosures({MAIN: house.folder / "outgoing"}, adapters or {}, house.threads, house.store.count)
    jobs = jobs_of(house.store, house.clock.now)
    approvals = Approvals(turns.agents, house.store, house.clock.now, lambda _: None, jobs)
    tools = structs.replace(planner.tools, enclosures=enclosures, approvals=approvals)
    return structs.replace(turns, planner=structs.replace(planner, tools=tools))


def copies(house: House) -> dict[str, bytes]:
    folder = house.folder / "outgoing"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


async def files_out(house: House) -> list[Enclosure]:
    return [file for row in await house.store.outbox.unfinished() for file in row.outgoing.files]


def put(house: House, path: str, content: bytes) -> Path:
    place = house.folder / "workspace" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def told(request: ModelRequest) -> list[str]:
    return [entry.text for entry in request.entries if isinstance(entry, ResultEntry)]


async def test_a_file_goes_out_with_the_answer_as_it_was_when_it_was_asked_for(house: House) -> None:
    """Whatever happens to it afterwards; it may be larger than what the tools read."""
    place = put(house, "plans/boat.pdf", b"%PDF" + b"\0" * 3_000_000)

    def changes(_: ModelRequest) -> str:
        place.write_bytes(b"changed")
        return "Here it is."

    model = ScriptedModel(says("", call("send_file", path="plans/boat.pdf", caption="The *plan*")), changes)
    row = await house.take_in(DIRECT)
    await answer(sending(house, model), row)
    assert told(model.requests[1]) == ["plans/boat.pdf (3,000,004 bytes) goes out with your answer."]
    assert await house.outbox() == ["Here it is."]
    assert await files_out(house) == [Enclosure(MAIN, f"{row.turn_id}.0", "plans/boat.pdf", 3_000_004, "The *plan*")]
    assert copies(house) == {f"{row.turn_id}.0": b"%PDF" + b"\0" * 3_000_000}


async def test_a_turn_that_says_nothing_may_still_send_its_file(house: House) -> None:
    """A silent answer takes nothing back."""
    put(house, "a.txt", b"a")
    model = ScriptedModel(says("", call("send_file", path="a.txt")), "NO_REPLY")
    await answer(sending(house, model), await house.take_in(DIRECT))
    assert (await house.outbox(), len(await files_out(house))) == ([""], 1)


async def test_after_a_crash_the_file_goes_out_once(house: House) -> None:
    """What was enclosed stands in the journal: the call is not run again, and nothing of it is lost."""
    put(house, "a.txt", b"a")
    row = await house.take_in(DIRECT)
    first = ScriptedModel(says("", call("send_file", path="a.txt")), ModelUnavailableError("gone"))
    assert isinstance(await answer(sending(house, first), row), RetryLater)
    put(house, "a.txt", b"changed")
    await answer(sending(house, ScriptedModel("Here.")), row)
    assert [file.key for file in await files_out(house)] == [f"{row.turn_id}.0"]
    assert copies(house) == {f"{row.turn_id}.0": b"a"}


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/2026-03-01.md", "attachments/x.pdf", "USER.md", "none.md"])
async def test_a_group_gets_no_file_that_it_may_not_read(house: House, path: str) -> None:
    """What is private looks as what is absent, and leaves no copy."""
    put(house, path, b"secret") if path != "none.md" else None
    model = ScriptedModel(says("", call("send_file", path=path)), "No.")
    await answer(sending(house, model), await house.take_in(GROUP))
    assert told(model.requests[1]) == [f"{path}: there is no such file, or this conversation may not read it"]
    assert (await files_out(house), copies(house)) == ([], {})


@pytest.mark.parametrize("path", ["../state.db", "/etc/passwd", "link", "plans", "."])
async def test_nothing_outside_the_workspace_and_no_folder_is_sent(house: House, path: str) -> None:
    """Paths and links lead nowhere else."""
    put(house, "plans/a.md", b"a")
    (house.folder / "workspace" / "link").symlink_to(house.folder / "state.db")
    model = ScriptedModel(says("", call("send_file", path=path)), "No.")
    await answer(sending(house, model), await house.take_in(DIRECT))
    assert (await files_out(house), copies(house)) == ([], {})


async def test_the_channels_limit_holds(house: House) -> None:
    """The model is told how much is taken, and nothing is kept of what is more."""
    put(house, "big.bin", b"x" * 11)
    channel = MediaAdapter("telegram", upload_limit=10)
    model = ScriptedModel(says("", call("send_file", path="big.bin")), "It is too large.")
    await answer(sending(house, model, {("telegram", "home"): channel}), await house.take_in(DIRECT))
    assert told(model.requests[1]) == ["big.bin: 11 bytes; at most 10 are allowed"]
    assert copies(house) == {}


async def test_one_answer_brings_a_bounded_number_of_files_each_once(house: House) -> None:
    """What is over the limit, or goes out already, is refused in words."""
    for number in range(MOST_A_TURN + 1):
        put(house, f"{number}.txt", b"x")
    calls = [call("send_file", path=f"{number}.txt") for number in (0, *range(MOST_A_TURN + 1))]
    model = ScriptedModel(says("", *calls), "Here.")
    await answer(sending(house, model), await house.take_in(DIRECT))
    assert len(await files_out(house)) == MOST_A_TURN
    results = told(model.requests[1])
    assert (results[1], results[-1]) == (
        "0.txt is already attached to this answer",
        "10 files are already attached to this answer, the maximum",
    )


@pytest.mark.parametrize(("path", "why"), [("none.md", "there is no such file"), ("big.bin", "at most 10")])
async def test_nobody_is_asked_about_a_file_that_cannot_be_sent(house: House, path: str, why: str) -> None:
    """After others' words a file waits for its owner; one that is absent or too large is refused at once."""
    put(house, "a.txt", b"x")
    put(house, "big.bin", b"x" * 11)
    forward = replace(DIRECT, quote=Quote("Sam", "Send me the file."))
    channels = {("telegram", "home"): MediaAdapter("telegram", upload_limit=10)}
    model = ScriptedModel(says("", call("send_file", path=path), call("send_file", path="a.txt")), "Asked.")
    await answer(sending(house, model, channels), await house.take_in(forward))
    refused, waits = told(model.requests[1])
    assert why in refused
    assert "waits for your owner's approval as #1" in waits
    assert (await files_out(house), copies(house)) == ([], {})


async def test_a_caption_has_a_limit(house: House) -> None:
    """Platforms take little text with a file."""
    put(house, "a.txt", b"x")
    model = ScriptedModel(says("", call("send_file", path="a.txt", caption="x" * (CAPTION_CHARS + 1))), "No.")
    await answer(sending(house, model), await house.take_in(DIRECT))
    assert "caption" in told(model.requests[1])[0]
    assert await files_out(house) == []
