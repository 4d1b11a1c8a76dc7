"""The registry of commands: parses them from a message's text and refuses unauthorised senders."""

import difflib
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from adapters.channel import InboundMessage, Via
from gateway.admission.internal_channels import is_inner
from gateway.admission.policy import Policy
from gateway.admission.routing import session_of
from gateway.agent.entries import OFFLINE
from gateway.commands.command import NAME, Asker, Command, CommandCall, Who
from gateway.commands.help import START, help_command, start_command
from gateway.commands.moment_question import answering_command
from gateway.commands.running import plan_answer, plan_command
from gateway.hooks import CommandGiven, Hooks
from gateway.hooks import command as command_event
from gateway.inbound.turn_mark import answered_command
from gateway.sessions.hook_events import conversation_of
from gateway.sessions.turn_request import Plan, TurnRequest
from workspaces.access import Access, Locality, SessionType, read_by
from workspaces.lazy_pattern import lazy_pattern

_ORDER = lazy_pattern(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_]+)?(?:\s+(?P<arguments>.*))?", re.DOTALL)
_ALIKE = 0.75
"""Similarity from which on a name counts as mistyped: `remmeber` is 0.88 like `remember`, `usr` 0.5 like `purge`."""

_ENDERS = "only my owner, and people named by them, can end this conversation. It continues as before."
_QUOTING = frozenset({"checkup", "cron", "promises", "summarize", "why"})
"""Commands that quote what was stored for any reader."""


class Unknown(Struct, frozen=True):
    """Text that looks like a command but names none."""

    name: str


class Commands:
    """All commands of one gateway; called with a message, it returns the plan of the turn that answers it."""

    def __init__(
        self,
        commands: Iterable[Command],
        policy: Policy,
        hooks: Hooks | None = None,
        chat_reader: Callable[[InboundMessage], Locality] = lambda _: Locality.HERE,
    ) -> None:
        """*policy* knows the owner's Persons; *hooks* are notified of each call. `/help` is added here.

        *chat_reader* tells who carries the answer to a message. Raises ValueError for an invalid name.
        """
        listed = list(commands)
        listed[:0] = [help_command(listed), start_command()]
        for command in listed:
            if not NAME.fullmatch(command.name):
                raise ValueError(f"{command.name!r} is no name for a command")
        self._by_name = {command.name: command for command in listed}
        if len(self._by_name) < len(listed):
            raise ValueError("two commands have one name")
        self._policy = policy
        self._hooks = hooks or Hooks()
        self._chat_reader = chat_reader

    @property
    def all(self) -> tuple[Command, ...]:
        """Return every command, in the order in which help lists them."""
        return tuple(self._by_name.values())

    def parse(self, text: str) -> tuple[Command, str] | Unknown | None:
        """Return the command in *text*, with its arguments; `None` for an ordinary message.

        A word after a slash that is no command is `Unknown` if it stands alone or looks like a mistyped one: a message
        may well begin with the name of a folder.
        """
        order = _ORDER.fullmatch(text.strip())
        if order is None:
            return None
        name, arguments = order["name"].lower(), (order["arguments"] or "").strip()
        command = self._by_name.get(name)
        if command is not None:
            return command, arguments
        return Unknown(name) if not arguments or _nearest(name, self._by_name) else None

    def __call__(self, asked: TurnRequest) -> Plan | None:
        """Return a plan that answers the message without a language model; `None` if it contains no command."""
        message = asked.row.message
        asker = self._asker(message, asked.access)
        found = self.parse(message.text) or self._answered_command(asked, asker)
        if found is None:
            return None
        if isinstance(found, tuple) and found[0].name == START and _introduces_itself(asked, asker):
            return None
        if isinstance(found, Unknown):
            said = self._unknown(found.name, asker)
        elif not asker.may_run(found[0].who):
            # A button that others see is not for them: their presses get no answer, however many there are.
            said = "" if message.via is Via.BUTTON and not asker.is_owner else self._refusal(found[0], asker)
        elif asker.access.reader is Locality.ELSEWHERE and found[0].name in _QUOTING:
            said = f"/{found[0].name} quotes what may be marked `house`: use it on the page or in the terminal."
        elif _is_ours(message):
            return plan_command(found[0], _call(asked, asker, found[1]), self._notify_hooks)
        else:
            said = ""
        # Where we answer without a mention, an unknown command may be another bot's: stay silent.
        return plan_answer(said if message.is_for_us else "", asked)

    def passes(self, message: InboundMessage) -> bool:
        """Return whether *message* is answered before one that waits for its model."""
        return message.via is not Via.EDIT and not is_inner(message) and self.passes_text(message.text)

    def passes_text(self, text: str) -> bool:
        """Return whether a message with this *text* is."""
        found = self.parse(text)
        return isinstance(found, Unknown) or (found is not None and found[0].passes)

    def _answered_command(self, asked: TurnRequest, asker: Asker) -> tuple[Command, str] | None:
        """Return the command that a message calls by answering our question, if that was for its sender."""
        text = answered_command(asked.row.message) or answering_command(asked)
        found = self.parse(text) if text is not None else None
        return found if isinstance(found, tuple) and asker.may_run(found[0].who) else None

    def gives(self, name: str, message: InboundMessage, access: Access) -> bool:
        """Return whether *message* calls our command *name*, and its sender may run it."""
        found = self.parse(message.text)
        if not isinstance(found, tuple) or found[0].name != name:
            return False
        asker = self._asker(message, access)
        return asker.may_run(found[0].who) and _is_ours(message)

    def _asker(self, message: InboundMessage, access: Access) -> Asker:
        is_owner = self._policy.is_owner(message.address.channel, message.sender)
        reader = self._chat_reader(message)
        return Asker(read_by(access, reader), is_owner, self._policy.may_end(message.address, message.sender))

    def _notify_hooks(self, command: Command, call: CommandCall) -> None:
        """Notify hooks of a command that is about to run."""
        if self._hooks.handles(event := command_event(command.name)):
            where = conversation_of(call.access, session_of(call.access))
            self._hooks.note(event, CommandGiven(where, command.name, call.arguments, call.asker.is_owner))

    def _refusal(self, command: Command, asker: Asker) -> str:
        """Return a refusal that tells the owner where the command works.

        To other people the command is unknown, unless some of them may run it.
        """
        if command.who is Who.ENDER:
            return f"/{command.name} is not for you here: {_ENDERS}"
        if asker.is_owner and command.who is Who.MAIN:
            return f"/{command.name} works only in your own chat with me, where nobody else reads."
        return self._unknown(command.name, asker)

    def _unknown(self, name: str, asker: Asker) -> str:
        near = _nearest(name, (command.name for command in self.all if asker.may_run(command.who)))
        guess = f" Did you mean /{near}?" if near else ""
        return f"There is no command /{name} here.{guess} /help lists those that you can use."


def _introduces_itself(asked: TurnRequest, asker: Asker) -> bool:
    """Return whether the agent's language model answers `/start`: its owner's, led by `BOOTSTRAP.md` at first."""
    is_main = asker.is_owner and asked.access.session_type is SessionType.MAIN
    return is_main and asked.agent.model.name != OFFLINE


def _is_ours(message: InboundMessage) -> bool:
    return message.is_for_us or "@" not in message.text.split()[0]


def _call(asked: TurnRequest, asker: Asker, arguments: str) -> CommandCall:
    turn_id = asked.row.turn_id
    run = asked.agent.history_writer.noting(asked.agent.run, turn_id, asked.origin)
    return CommandCall(arguments, asker, asked.agent, asked.transcript, turn_id, asked.origin, run, asked)


def _nearest(name: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, names, 1, _ALIKE)), None)
