"""Runs a command in the loop of every turn: journal, crash and commit work as for a model's tools."""

import json
from collections.abc import Callable
from uuid import uuid4

from pydantic import BaseModel

from gateway.agent.entries import COMMAND, ReplyEntry, ResultEntry, ToolCall, Usage, is_interrupted
from gateway.agent.models.port import ModelRequest, OnText, ToolSpec
from gateway.agent.tools.tool import Tool, Toolbox
from gateway.commands.command import Command, CommandCall
from gateway.sessions.turn_request import Plan, TurnRequest
from gateway.stores.rows import TurnId
from gateway.transcripts.writer import Transcript

_INTERRUPTED = "/{name} was interrupted: it may or may not have happened. Please check before you repeat it."


Given = Callable[[Command, CommandCall], None]
"""Notified of each command that is about to run."""


def plan_command(command: Command, call: CommandCall, given: Given) -> Plan:
    """Return a turn that runs *command* once, or repeatedly after crashes if it is repeatable."""

    async def run(arguments: str) -> str:
        given(command, call)
        return await command.run(call)

    spec = ToolSpec(f"/{command.name}", command.help, _CommandArguments.model_json_schema())
    toolbox = Toolbox([Tool(spec, _CommandArguments, run)], call.access)
    return Plan(_Obedient(command, call.arguments), _request(call.transcript, call.turn_id), toolbox)


def plan_answer(text: str, asked: TurnRequest) -> Plan:
    """Return a turn that answers *text* and runs nothing."""
    request = _request(asked.transcript, asked.row.turn_id)
    return Plan(_FixedReply(text), request, Toolbox([], asked.access))


class _CommandArguments(BaseModel):
    """The journalled arguments of a command's call."""

    arguments: str


class _FixedReply:
    """A model that answers one text."""

    name = COMMAND
    window_tokens = 0

    def __init__(self, text: str) -> None:
        self._text = text

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Return the text; cannot fail."""
        return _says(self._text)

    async def close(self) -> None:
        """Nothing to release."""


class _Obedient:
    """A model that calls one command and then repeats its result."""

    name = COMMAND
    window_tokens = 0

    def __init__(self, command: Command, arguments: str) -> None:
        self._command = command
        self._arguments = arguments

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Decide by the turn's last record; cannot fail."""
        match request.entries[-1]:
            case ResultEntry() as result if not is_interrupted(result):
                return _says(result.text)
            case ResultEntry() if not self._command.repeatable:
                return _says(_INTERRUPTED.format(name=self._command.name))
            case _:
                return ReplyEntry("", (self._call(),), COMMAND, Usage())

    async def close(self) -> None:
        """Nothing to release."""

    def _call(self) -> ToolCall:
        arguments = json.dumps({"arguments": self._arguments}, ensure_ascii=False)
        return ToolCall(f"call_{uuid4().hex[:24]}", f"/{self._command.name}", arguments)


def _request(transcript: Transcript, turn_id: TurnId) -> ModelRequest:
    """Return the turn alone: a command does not see earlier messages."""
    return ModelRequest("", transcript.entries_of(turn_id), ())


def _says(text: str) -> ReplyEntry:
    return ReplyEntry(text, (), COMMAND, Usage())
