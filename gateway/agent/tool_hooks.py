"""Owner hooks around a model's tool calls: they decide about runs, change results and are notified."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog
from msgspec import Struct

from gateway.agent.entries import ResultEntry, ToolCall
from gateway.agent.tools.tool import Toolbox
from gateway.errors import HookError, ToolError
from gateway.hooks import (
    AFTER_TOOL_CALL,
    BEFORE_TOOL_CALL,
    TOOL_RESULT_PERSIST,
    Conversation,
    Hooks,
    ToolCalled,
    ToolCalling,
    ToolResult,
)

log = structlog.get_logger()

_WITHHELD = "The call ran, but its result is withheld: the owner's hook that checks results failed."
_FAILED = "not run: the owner's hook that decides about calls failed"


class HookedCalls(Struct, frozen=True):
    """Runs the calls of one turn through the hooks."""

    hooks: Hooks
    where: Conversation

    async def __call__(self, call: ToolCall, run: Callable[[ToolCall], Awaitable[ResultEntry]]) -> ResultEntry:
        """Return the result of *call* as recorded: of the call that the hooks allow, or the reason for a refusal."""
        try:
            allowed = await self._checked_call(call)
        except ToolError as refusal:
            return ResultEntry(call.id, call.name, str(refusal), is_error=True)
        result = await self._checked_result(await run(allowed))
        if self.hooks.handles(AFTER_TOOL_CALL):
            told = ToolCalled(self.where, call.name, allowed.arguments, result.text, result.is_error)
            self.hooks.note(AFTER_TOOL_CALL, told)
        return result

    async def _checked_call(self, call: ToolCall) -> ToolCall:
        """Return the call to run, exactly as the hooks saw it. Raises ToolError if they refuse it."""
        if not self.hooks.handles(BEFORE_TOOL_CALL):
            return call
        seen = ToolCalling(self.where, call.name, _object(call.arguments))
        try:
            decided = await self.hooks.tell(BEFORE_TOOL_CALL, seen)
        except HookError as exc:
            raise ToolError(_FAILED) from exc
        if decided.blocked:
            await self.hooks.count("hook_blocked")
            log.info("a hook blocked a call", tool=call.name)
            raise ToolError(f"blocked by the owner's hook: {decided.blocked}")
        if decided.arguments != seen.arguments:
            log.info("a hook changed the arguments of a call", tool=call.name)
        return replace(call, arguments=decided.arguments)

    async def _checked_result(self, result: ResultEntry) -> ResultEntry:
        if not self.hooks.handles(TOOL_RESULT_PERSIST):
            return result
        told = ToolResult(self.where, result.name, result.text, result.is_error)
        try:
            return replace(result, text=(await self.hooks.tell(TOOL_RESULT_PERSIST, told)).text)
        except HookError:
            return replace(result, text=_WITHHELD, is_error=True)


def lead_past(toolbox: Toolbox, hooks: Hooks, where: Conversation) -> None:
    """Wrap the calls of *toolbox* in *hooks*, if any of them handles calls."""
    if hooks.handles(BEFORE_TOOL_CALL) or hooks.handles(TOOL_RESULT_PERSIST) or hooks.handles(AFTER_TOOL_CALL):
        toolbox.wrap(HookedCalls(hooks, where))


def _object(arguments: str) -> str:
    """Return *arguments* as one JSON object that every reader parses alike. Raises ToolError for anything else."""
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as exc:
        raise ToolError("arguments: not JSON") from exc
    if not isinstance(found, dict):
        raise ToolError("arguments: not a JSON object")
    return json.dumps(found, ensure_ascii=False)
