"""What hooks make of a model's tool calls: what runs, what is written down, who hears of it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gateway.agent.entries import ResultEntry, ToolCall
from gateway.agent.tool_hooks import lead_past
from gateway.agent.tools.tool import FromOutside, Toolbox, tool
from gateway.hooks import (
    AFTER_TOOL_CALL,
    BEFORE_TOOL_CALL,
    TOOL_RESULT_PERSIST,
    Conversation,
    Hook,
    HookEvent,
    Hooks,
    ToolCalled,
)
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import MAIN
from workspaces.access import SessionType

WHERE = Conversation("main", "main/main", SessionType.MAIN)
RAN: list[str] = []
COUNTED: list[str] = []


async def count(reason: str) -> None:
    COUNTED.append(reason)


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()
    COUNTED.clear()


async def look(place: str) -> FromOutside:
    """Look at a place."""
    RAN.append(place)
    return FromOutside(f"seen: {place}")


async def called(arguments: str, *handlers: tuple[HookEvent[Any], Callable[[Any], object]]) -> ResultEntry:
    """What the model is told of a call, once all have heard who look on."""
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        hooks = Hooks([Hook(event.name, "test", handler) for event, handler in handlers], count, tasks)
        toolbox = Toolbox([tool(look)], MAIN)
        lead_past(toolbox, hooks, WHERE)
        result = await toolbox.call(ToolCall("c1", "look", arguments))
        await hooks.finish(PATIENCE_S)
    return result


def changes(**fields: object) -> Callable[[Any], object]:
    return lambda payload: replace(payload, **fields)


def fails(_: object) -> None:
    raise KeyError("x")


async def test_without_a_hook_nothing_stands_around_a_call() -> None:
    """Not even an object: a turn costs what it did."""
    toolbox = Toolbox([tool(look)], MAIN)
    lead_past(toolbox, Hooks([Hook("message_sent", "other", print)]), WHERE)
    assert toolbox._around is None


async def test_a_blocked_call_does_not_run_and_the_model_is_told_why() -> None:
    """And the ledger counts it."""
    result = await called('{"place": "a"}', (BEFORE_TOOL_CALL, changes(blocked="not today")))
    assert result == ResultEntry("c1", "look", "blocked by the owner's hook: not today", is_error=True)
    assert (RAN, COUNTED) == ([], ["hook_blocked"])


async def test_changed_arguments_are_what_runs() -> None:
    """The tool checks them as it checks a model's."""
    assert (await called('{"place": "a"}', (BEFORE_TOOL_CALL, changes(arguments='{"place": "b"}')))).text == "seen: b"
    assert RAN == ["b"]
    refused = await called('{"place": "a"}', (BEFORE_TOOL_CALL, changes(arguments='{"colour": "b"}')))
    assert refused.is_error
    assert RAN == ["b"]


async def test_where_the_deciding_hook_fails_nothing_runs() -> None:
    """Closed, with a constant sentence: what the hook said stays in the log."""
    result = await called('{"place": "a"}', (BEFORE_TOOL_CALL, fails))
    assert (result.is_error, RAN) == (True, [])
    assert "KeyError" not in result.text


@pytest.mark.parametrize("arguments", ["[]", "{", '{"place": "a"} x', "[" * 100_000])
async def test_what_a_hook_cannot_read_does_not_run(arguments: str) -> None:
    """No call gets past a hook by the way in which it is written."""
    assert (await called(arguments, (BEFORE_TOOL_CALL, changes()))).is_error
    assert RAN == []


async def test_what_runs_is_what_the_hook_saw() -> None:
    """A name twice in one object means the same to both."""
    seen: list[Any] = []
    await called('{"place": "a", "place": "b"}', (BEFORE_TOOL_CALL, seen.append))
    assert seen[0].arguments == '{"place": "b"}'
    assert RAN == ["b"]


async def test_a_result_is_written_down_as_the_hook_leaves_it() -> None:
    """Its text alone; it stays one of others' words."""
    result = await called('{"place": "a"}', (TOOL_RESULT_PERSIST, changes(text="(taken out)")))
    assert result == ResultEntry("c1", "look", "(taken out)", is_error=False, from_outside=True)


async def test_a_result_that_no_hook_could_look_at_is_withheld() -> None:
    """From the model and from the transcript."""
    result = await called('{"place": "a"}', (TOOL_RESULT_PERSIST, fails))
    assert result.is_error
    assert result.from_outside
    assert "seen" not in result.text
    assert RAN == ["a"]


async def test_who_looks_on_hears_what_ran_and_what_was_kept() -> None:
    """Not what a hook before took out; of a blocked call nothing."""
    heard: list[object] = []
    change = (BEFORE_TOOL_CALL, changes(arguments='{"place": "b"}'))
    await called('{"place": "a"}', change, (TOOL_RESULT_PERSIST, changes(text="kept")), (AFTER_TOOL_CALL, heard.append))
    await called('{"place": "a"}', (BEFORE_TOOL_CALL, changes(blocked="no")), (AFTER_TOOL_CALL, heard.append))
    assert heard == [ToolCalled(WHERE, "look", '{"place": "b"}', "kept", is_error=False)]
