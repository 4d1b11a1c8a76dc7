"""Public names for hooks, the owner's code and the gateway's: events, payloads and handlers.

A handler is a function marked with `@on(EVENT)`, or an executable file. It receives the event's payload and returns
another one, or nothing to change nothing. It comes from an installed package (entry points of the group
`strandline.hooks`) or from `<home>/hooks/`. A handler is the owner's code, with the owner's rights.
"""

from gateway.hooks.bootstrap import AGENT_BOOTSTRAP, Bootstrap
from gateway.hooks.event import Handler, HookEvent, on
from gateway.hooks.events import (
    AFTER_COMPACTION,
    AFTER_TOOL_CALL,
    AGENT_END,
    BEFORE_AGENT_START,
    BEFORE_COMPACTION,
    BEFORE_TOOL_CALL,
    COMMAND,
    EVENTS,
    GATEWAY_START,
    GATEWAY_STOP,
    MESSAGE_RECEIVED,
    MESSAGE_SENDING,
    MESSAGE_SENT,
    SESSION_END,
    SESSION_PAUSE,
    SESSION_START,
    TOOL_RESULT_PERSIST,
    command,
    event_of,
)
from gateway.hooks.loading import hook_faults, hooks_of, load_hooks
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
from gateway.hooks.running import DROPPED, FAILED, Hook, Hooks
