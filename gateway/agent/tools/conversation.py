"""Tool for a summary of the agent's own conversation, which is made before the next message."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Container, Iterable

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.agent.entries import OFFLINE, Entry, Mark, ReplyEntry, ResultEntry, SummaryEntry, ToolCall
from gateway.agent.models.port import Model
from gateway.agent.tools.tool import Tool, tool
from workspaces.access import Access, SessionType


def conversation_tools(access: Access, model: Model) -> list[Tool]:
    """Return the tool with which a model requests a summary, in its owner's own chat."""
    if access.session_type is not SessionType.MAIN or model.name == OFFLINE:
        return []
    return [tool(summarize_conversation)]


async def summarize_conversation(
    focus: str = "",
) -> str:
    """Summarise older messages, when a topic closes or the window fills."""
    return "Before the next message, what was said is saved into the notes and its older part is summarised."


class _Focus(BaseModel):
    model_config = ConfigDict(extra="ignore")
    focus: str = ""


def asked_focus(newest_first: Iterable[Entry | Mark]) -> str | None:
    """Return the focus of a summary that the model requested and that is not made yet; `None` without a request.

    The transcript is the only record, so a request survives a crash.
    """
    answered: set[str] = set()
    for entry in newest_first:
        if isinstance(entry, SummaryEntry):
            return None
        if isinstance(entry, ResultEntry):
            if entry.name == "summarize_conversation" and not entry.is_error:
                answered.add(entry.call_id)
        elif answered and isinstance(entry, ReplyEntry) and (asked := _calls_in(answered, entry.calls)):
            return _focus(asked[-1].arguments)
    return None


def _calls_in(answered: Container[str], calls: Iterable[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if call.id in answered]


def _focus(arguments: str) -> str:
    try:
        return _Focus.model_validate_json(arguments or "{}").focus
    except ValidationError:
        return ""
