"""The events: the fields that a handler may change at each, and the effect of a failing handler."""

import json
import re
from dataclasses import replace
from typing import Any

from gateway.hooks.bootstrap import AGENT_BOOTSTRAP, no_file
from gateway.hooks.event import HookEvent, changing
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

_LONGEST = 1_000_000
"""Most characters of a text from a handler; our choice."""
_LONGEST_REASON = 500
_COMMAND = re.compile(r"command:[a-z][a-z0-9_]{0,31}")

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


# --- deciding events: a handler that fails means no

BEFORE_AGENT_START: HookEvent[AgentStart] = HookEvent(
    "before_agent_start",
    changing(prompt=_is_said),
    decides=True,
    sample=AgentStart("main", SessionType.MAIN, "You are a personal agent.", no_file),
)
"""When a prompt was built, for a turn or to save notes. If a handler fails no model is asked."""

BEFORE_COMPACTION: HookEvent[Compacting] = HookEvent(
    "before_compaction", changing(refused=_is_reason), decides=True, deadline_s=30.0, sample=Compacting(_CHAT, 40)
)
"""Before notes are saved and a summary is written.

It waits for its handlers; refused, or if one fails, nothing is summarised now, and the next turn asks again.
"""

MESSAGE_SENDING: HookEvent[MessageSending] = HookEvent(
    "message_sending",
    changing(text=_is_said, is_cancelled=_is_flag),
    decides=True,
    sample=MessageSending(_CHAT, _PLACE, "The tea is ready.", 0),
)
"""Before an answer goes into the outbox. If a handler fails the chat gets one constant sentence instead."""

BEFORE_TOOL_CALL: HookEvent[ToolCalling] = HookEvent(
    "before_tool_call",
    changing(arguments=is_object, blocked=_is_reason),
    decides=True,
    sample=ToolCalling(_CHAT, "read_file", '{"path": "TOOLS.md"}'),
)
"""Before a tool of a model runs. If a handler fails it does not run."""

TOOL_RESULT_PERSIST: HookEvent[ToolResult] = HookEvent(
    "tool_result_persist",
    changing(text=_is_text),
    decides=True,
    sample=ToolResult(_CHAT, "read_file", "Use metric units.", is_error=False),
)
"""Before a result is recorded and shown to the model. If a handler fails the result is withheld."""

# --- observed events: a handler that fails is skipped, and nothing waits for one

AGENT_END: HookEvent[AgentEnd] = HookEvent(
    "agent_end", changing(), decides=False, sample=AgentEnd(_CHAT, "answered", "The tea is ready.", "offline")
)
AFTER_COMPACTION: HookEvent[CompactionPayload] = HookEvent(
    "after_compaction", changing(), decides=False, sample=CompactionPayload(_CHAT, 40, "We spoke about tea.", "offline")
)
MESSAGE_RECEIVED: HookEvent[MessageReceived] = HookEvent(
    "message_received",
    changing(),
    decides=False,
    sample=MessageReceived(_CHAT, _PLACE, "12345", "Is the tea ready?", is_for_us=True),
    aliases=("message:received",),
)
MESSAGE_SENT: HookEvent[MessageSent] = HookEvent(
    "message_sent",
    changing(),
    decides=False,
    sample=MessageSent(_PLACE, "The tea is ready.", 0, is_last=True, message_id="77"),
    aliases=("message:sent",),
)
AFTER_TOOL_CALL: HookEvent[ToolCalled] = HookEvent(
    "after_tool_call",
    changing(),
    decides=False,
    sample=ToolCalled(_CHAT, "read_file", '{"path": "TOOLS.md"}', "Use metric units.", is_error=False),
)
SESSION_START: HookEvent[SessionStart] = HookEvent(
    "session_start", changing(), decides=False, sample=SessionStart(_CHAT), aliases=("session:start",)
)
SESSION_PAUSE: HookEvent[SessionRest] = HookEvent(
    "session:pause", changing(), decides=False, sample=SessionRest(_CHAT, "rest", ("memory/2026-03-01.md",))
)
SESSION_END: HookEvent[SessionRest] = HookEvent(
    "session_end",
    changing(),
    decides=False,
    sample=SessionRest(_CHAT, "new", ("memory/2026-03-01.md",)),
    aliases=("session:end",),
)
COMMAND: HookEvent[CommandGiven] = HookEvent(
    "command:*",
    changing(),
    decides=False,
    sample=CommandGiven(_CHAT, "new", "", by_owner=True),
    aliases=("command",),
)
"""Every command; `command("new")` is one of them."""
GATEWAY_START: HookEvent[GatewayState] = HookEvent(
    "gateway_start", changing(), decides=False, sample=GatewayState(("main",)), aliases=("gateway:start",)
)
GATEWAY_STOP: HookEvent[GatewayState] = HookEvent(
    "gateway_stop", changing(), decides=False, sample=GatewayState(("main",)), aliases=("gateway:stop",)
)

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
    return replace(COMMAND, name=f"command:{name}", aliases=COMMAND.names)


def event_of(name: str) -> HookEvent[Any] | None:
    """Return the event called *name*; `None` if there is none."""
    if _COMMAND.fullmatch(name):
        return command(name.partition(":")[2])
    return next((event for event in EVENTS if name in event.names), None)
