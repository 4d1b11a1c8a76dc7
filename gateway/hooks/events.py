"""The events: the fields that a handler may change at each, and the effect of a failing handler."""

import json
from typing import Any, TypeVar

from msgspec import structs

from gateway.hooks.bootstrap import AGENT_BOOTSTRAP, no_file
from gateway.hooks.event import Check, HookEvent, changing
from gateway.hooks.payloads import (
    AgentEnd,
    AgentStart,
    ChatPayload,
    CommandGiven,
    Compacting,
    CompactionPayload,
    Conversation,
    GatewayState,
    MessageReceived,
    MessageSending,
    MessageSent,
    SessionRest,
    SessionStart,
    ToolCalled,
    ToolCalling,
    ToolResult,
)
from workspaces.access import SessionType
from workspaces.lazy_pattern import lazy_pattern

P = TypeVar("P")

_LONGEST = 1_000_000
"""Most characters of a text from a handler; our choice."""
_LONGEST_REASON = 500
_COMMAND = lazy_pattern(r"command:[a-z][a-z0-9_]{0,31}")

_CHAT = Conversation("main", "main:main", SessionType.MAIN)
_PLACE = ChatPayload("telegram", "home", "12345")


def _is_text(value: object) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"is a text of at most {_LONGEST:,} characters")


def _is_said(value: object) -> None:
    _is_text(value)
    if not str(value).strip():
        raise ValueError("is empty")


def _is_reason(value: object) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST_REASON:
        raise ValueError(f"is a text of at most {_LONGEST_REASON} characters")


def _is_flag(value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError("is true or false")


def is_object(value: object) -> None:
    """Raise ValueError unless *value* is the JSON text of an object."""
    _is_text(value)
    try:
        found = json.loads(str(value))
    except (ValueError, RecursionError) as exc:
        raise ValueError("is not JSON") from exc
    if not isinstance(found, dict):
        raise ValueError("is not the JSON text of an object")


def _deciding(name: str, sample: P, deadline_s: float = 2.0, **may: Check) -> HookEvent[P]:
    """Return an event whose handlers may change some fields; one that fails means no."""
    return HookEvent(name, changing(**may), decides=True, deadline_s=deadline_s, sample=sample)


def _observed(name: str, sample: P, *aliases: str) -> HookEvent[P]:
    """Return an event that handlers observe; one that fails is skipped, and nothing waits for one."""
    return HookEvent(name, changing(), decides=False, sample=sample, aliases=aliases)


BEFORE_AGENT_START = _deciding(
    "before_agent_start", AgentStart("main", SessionType.MAIN, "You are a personal agent.", no_file), prompt=_is_said
)
"""When a prompt was built, for a turn or to save notes. If a handler fails no model is asked."""
BEFORE_COMPACTION = _deciding("before_compaction", Compacting(_CHAT, 40), 30.0, refused=_is_reason)
"""Before notes are saved and a summary is written.

It waits for its handlers; refused, or if one fails, nothing is summarised now, and the next turn asks again.
"""
MESSAGE_SENDING = _deciding(
    "message_sending", MessageSending(_CHAT, _PLACE, "The tea is ready.", 0), text=_is_said, is_cancelled=_is_flag
)
"""Before an answer goes into the outbox. If a handler fails the chat gets one constant sentence instead."""
BEFORE_TOOL_CALL = _deciding(
    "before_tool_call",
    ToolCalling(_CHAT, "read_file", '{"path": "TOOLS.md"}'),
    arguments=is_object,
    blocked=_is_reason,
)
"""Before a tool of a model runs. If a handler fails it does not run."""
TOOL_RESULT_PERSIST = _deciding(
    "tool_result_persist", ToolResult(_CHAT, "read_file", "Use metric units.", is_error=False), text=_is_text
)
"""Before a result is recorded and shown to the model. If a handler fails the result is withheld."""

AGENT_END = _observed("agent_end", AgentEnd(_CHAT, "answered", "The tea is ready.", "offline"))
AFTER_COMPACTION = _observed("after_compaction", CompactionPayload(_CHAT, 40, "We spoke about tea.", "offline"))
MESSAGE_RECEIVED = _observed(
    "message_received",
    MessageReceived(_CHAT, _PLACE, "12345", "Is the tea ready?", is_for_us=True),
    "message:received",
)
MESSAGE_SENT = _observed(
    "message_sent", MessageSent(_PLACE, "The tea is ready.", 0, is_last=True, message_id="77"), "message:sent"
)
AFTER_TOOL_CALL = _observed(
    "after_tool_call",
    ToolCalled(_CHAT, "read_file", '{"path": "TOOLS.md"}', "Use metric units.", is_error=False),
)
SESSION_START = _observed("session_start", SessionStart(_CHAT), "session:start")
SESSION_PAUSE = _observed("session:pause", SessionRest(_CHAT, "rest", ("memory/2026-03-01.md",)))
SESSION_END = _observed("session_end", SessionRest(_CHAT, "new", ("memory/2026-03-01.md",)), "session:end")
COMMAND = _observed("command:*", CommandGiven(_CHAT, "new", "", by_owner=True), "command")
"""Every command; `command("new")` is one of them."""
GATEWAY_START = _observed("gateway_start", GatewayState(("main",)), "gateway:start")
GATEWAY_STOP = _observed("gateway_stop", GatewayState(("main",)), "gateway:stop")

EVENTS: tuple[HookEvent[Any], ...] = (
    AGENT_BOOTSTRAP,
    BEFORE_AGENT_START,
    AGENT_END,
    BEFORE_COMPACTION,
    AFTER_COMPACTION,
    MESSAGE_RECEIVED,
    MESSAGE_SENDING,
    MESSAGE_SENT,
    BEFORE_TOOL_CALL,
    AFTER_TOOL_CALL,
    TOOL_RESULT_PERSIST,
    SESSION_START,
    SESSION_PAUSE,
    SESSION_END,
    COMMAND,
    GATEWAY_START,
    GATEWAY_STOP,
)
"""All of them, in the order of the docs."""


def command(name: str) -> HookEvent[CommandGiven]:
    """Return the event of the command *name*; handlers of every command get it too."""
    return structs.replace(COMMAND, name=f"command:{name}", aliases=COMMAND.names)


def event_of(name: str) -> HookEvent[Any] | None:
    """Return the event called *name*; `None` if there is none."""
    if _COMMAND.fullmatch(name):
        return command(name.partition(":")[2])
    return next((event for event in EVENTS if name in event.names), None)
