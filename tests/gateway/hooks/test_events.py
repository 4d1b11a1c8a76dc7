"""Every event: what a handler may change, and what is no payload."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import HookError
from gateway.hooks import (
    BEFORE_AGENT_START,
    BEFORE_COMPACTION,
    BEFORE_TOOL_CALL,
    COMMAND,
    EVENTS,
    MESSAGE_SENDING,
    MESSAGE_SENT,
    TOOL_RESULT_PERSIST,
    Hook,
    HookEvent,
    Hooks,
    command,
    event_of,
    on,
)

DECIDING = [BEFORE_AGENT_START, BEFORE_COMPACTION, BEFORE_TOOL_CALL, MESSAGE_SENDING, TOOL_RESULT_PERSIST]
PLUGIN_HOOKS = {
    *("before_agent_start", "agent_end", "before_compaction", "after_compaction", "message_received"),
    *("message_sending", "message_sent", "before_tool_call", "after_tool_call", "tool_result_persist"),
    *("session_start", "session_end", "gateway_start", "gateway_stop"),
}
RIGHT: list[tuple[HookEvent[Any], Mapping[str, object]]] = [
    (BEFORE_AGENT_START, {"prompt": "Be brief. You are an agent."}),
    (BEFORE_COMPACTION, {"refused": "not before the backup"}),
    (BEFORE_TOOL_CALL, {"arguments": "{}"}),
    (BEFORE_TOOL_CALL, {"blocked": "not this file"}),
    (MESSAGE_SENDING, {"text": "another"}),
    (MESSAGE_SENDING, {"is_cancelled": True}),
    (TOOL_RESULT_PERSIST, {"text": ""}),
]
WRONG: list[tuple[HookEvent[Any], Mapping[str, object]]] = [
    (BEFORE_AGENT_START, {"prompt": " "}),
    (BEFORE_AGENT_START, {"prompt": b"bytes"}),
    (BEFORE_AGENT_START, {"read": lambda _: None}),
    (BEFORE_AGENT_START, {"session_type": "group"}),
    (BEFORE_COMPACTION, {"refused": None}),
    (BEFORE_COMPACTION, {"turns": 0}),
    (BEFORE_TOOL_CALL, {"arguments": "[]"}),
    (BEFORE_TOOL_CALL, {"arguments": "{"}),
    (BEFORE_TOOL_CALL, {"arguments": {}}),
    (BEFORE_TOOL_CALL, {"tool": "delete_file"}),
    (BEFORE_TOOL_CALL, {"blocked": "x" * 501}),
    (MESSAGE_SENDING, {"text": ""}),
    (MESSAGE_SENDING, {"text": "x" * 1_000_001}),
    (MESSAGE_SENDING, {"is_cancelled": 1}),
    (MESSAGE_SENDING, {"place": None}),
    (TOOL_RESULT_PERSIST, {"text": None}),
    (TOOL_RESULT_PERSIST, {"is_error": True}),
    (MESSAGE_SENT, {"text": "another"}),
]


def hooks(event: HookEvent[Any], change: Mapping[str, object]) -> Hooks:
    return Hooks([Hook(event.name, "test", lambda payload: replace(payload, **change))])


def sample(event: HookEvent[Any]) -> Any:
    """The payload to try a handler with."""
    return event.sample


def test_the_events_are_those_that_are_promised() -> None:
    """The plugin hooks by their names, and the gateway's own families; no two share a name."""
    names = [name for event in EVENTS for name in event.names]
    assert set(names) >= PLUGIN_HOOKS
    assert {name.partition(":")[0] for name in names if ":" in name} == {
        *("agent", "command", "gateway", "message", "session")
    }
    assert len(set(names)) == len(names)
    assert [event for event in EVENTS if event.decides] == [event for event in EVENTS if event in DECIDING]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_every_event_is_found_by_each_of_its_names_and_has_a_sample(event: HookEvent[Any]) -> None:
    """A sample passes the event's own check unchanged."""
    assert [event_of(name) for name in event.names] == [event] * len(event.names)
    assert event.checked(sample(event), replace(sample(event))) == event.sample


@pytest.mark.parametrize(("event", "change"), RIGHT)
async def test_what_may_be_changed_is(event: HookEvent[Any], change: Mapping[str, object]) -> None:
    """And nothing else with it."""
    assert await hooks(event, change).tell(event, sample(event)) == replace(sample(event), **change)


@pytest.mark.parametrize(("event", "change"), WRONG)
async def test_what_may_not_be_changed_is_a_failure(event: HookEvent[Any], change: Mapping[str, object]) -> None:
    """Of a handler that decides: closed; of any other: passed over."""
    if event.decides:
        with pytest.raises(HookError):
            await hooks(event, change).tell(event, sample(event))
    else:
        assert await hooks(event, change).tell(event, sample(event)) == event.sample


async def test_the_next_handler_never_sees_a_wrong_payload() -> None:
    """Validated between handlers: the chain ends at the one that spoils it."""
    seen: list[object] = []
    chain = [
        Hook(MESSAGE_SENDING.name, "spoils", lambda payload: replace(payload, text=None)),
        Hook(MESSAGE_SENDING.name, "sees", seen.append),
    ]
    with pytest.raises(HookError, match="spoils"):
        await Hooks(chain).tell(MESSAGE_SENDING, sample(MESSAGE_SENDING))
    assert seen == []


async def test_a_higher_priority_comes_first() -> None:
    """Whatever was found first; of equal ones the order stays."""
    heard: list[str] = []
    found = [
        Hook(MESSAGE_SENDING.name, name, lambda _, name=name: heard.append(name), priority)
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5))
    ]
    await Hooks(found).tell(MESSAGE_SENDING, sample(MESSAGE_SENDING))
    assert heard == ["b", "d", "a", "c"]


def test_a_hook_for_one_command_hears_that_one() -> None:
    """One for all commands hears each."""
    one, every = Hooks([Hook("command:new", "one", print)]), Hooks([Hook("command", "every", print)])
    assert one.handles(command("new"))
    assert not one.handles(command("stop"))
    assert every.handles(command("new"))
    assert event_of("command:Not A Name") is None
    assert COMMAND.names == ("command:*", "command")


def test_a_mark_says_event_and_priority() -> None:
    """By what the loader finds a handler."""

    @on(MESSAGE_SENDING, priority=3)
    def handler(_: object) -> None:
        return None

    assert vars(handler) == {"_strandline_event": "message_sending", "_strandline_priority": 3}
