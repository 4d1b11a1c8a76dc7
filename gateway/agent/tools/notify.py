"""Notification tool of an unprompted turn, for messages to the owner."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry
from gateway.agent.models.port import NOTIFY
from gateway.agent.tools.tool import Told, Tool, done, tool
from gateway.errors import ToolError


def notify_tools() -> list[Tool]:
    """Return the tool of an unprompted turn; its destination was fixed before the turn began."""
    return [tool(notify, sends=True)]


async def notify(text: str) -> Told:
    """Tell your owner *text*, in Markdown, in their own direct chat with you, when this turn ends."""
    if not text.strip():
        raise ToolError("there is no text to send: give one, or stay silent")
    return done("Your owner is notified when this turn ends. Nothing else of it is shown.", "notifies")


class _Notice(BaseModel):
    model_config = ConfigDict(extra="ignore")
    text: str


def waits(result: ResultEntry) -> bool:
    """Return whether the call of *result* waits for the owner."""
    return any(act.kind == "waits" for act in result.acts)


def notified_texts(entries: Sequence[Entry]) -> str:
    """Return the texts of a turn's `notify` calls, each once; empty if there were none.

    The transcript is the only record, so notifications survive a crash.
    """
    done = {each.call_id for each in entries if isinstance(each, ResultEntry) and not each.is_error and not waits(each)}
    calls = (call for each in entries if isinstance(each, ReplyEntry) for call in each.calls)
    texts = (text_of(call.arguments) for call in calls if call.name == NOTIFY and call.id in done)
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


def text_of(arguments: str) -> str:
    """Return the text in the *arguments* of a call; empty if they hold none."""
    try:
        return _Notice.model_validate_json(arguments).text.strip()
    except ValidationError:
        return ""
