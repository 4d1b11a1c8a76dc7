"""The owner's conversation with an agent, from a terminal."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from adapters.abilities import MenuEntry
from adapters.channel import Address, OutboundMessage
from adapters.spoken import CHAT
from adapters.terminal import TerminalAdapter
from gateway.control.operator_api import OnReply, OnSign
from gateway.control.stream_wire import ChatSign, CommandsAnswer, CommandsOrder
from gateway.delivery.sender import Delivery, is_part_of
from gateway.inbound.outcomes import Outcomes
from gateway.runtime.clock import unless
from gateway.turns.presence import Presence
from workspaces.access import AgentId

_ANY_TIME = ("/undo ", "/correct ")


class ChatOperator(Struct, frozen=True):
    """Sends the owner's messages to the agents, and shows the answers."""

    terminals: Mapping[AgentId, TerminalAdapter]
    outcomes: Outcomes
    delivery: Delivery
    presence: Presence
    menu: Callable[[], Sequence[MenuEntry]]
    """Returns the commands that a message may begin with."""
    passes: Callable[[str], bool]
    """Returns whether a text is answered before a message that waits for its model."""
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the gateway's run ends."""

    async def commands(self, _: CommandsOrder) -> CommandsAnswer:
        """Return the commands that the owner may give in a message."""
        return CommandsAnswer(tuple(self.menu()))

    async def listen(self, agent: AgentId, on_reply: OnReply) -> None:
        """Show messages to the owner's chat with *agent*, such as a reminder, until the gateway's run ends."""

        async def show(message: OutboundMessage) -> None:
            await on_reply(f"{message.body.text}{_commands_below(message)}", False)

        with self.terminals[agent].attach(show):
            await self.ending.wait()

    def address(self, agent: AgentId) -> Address:
        """Return the owner's chat with *agent* at the terminal."""
        terminal = self.terminals[agent]
        return Address(terminal.channel, terminal.account, CHAT)

    async def chat(self, agent: AgentId, text: str, on_reply: OnReply, on_sign: OnSign) -> None:
        """Send *text* to *agent*; return once the answer is delivered, or once the message must wait.

        It must wait when its turn fails for now, or that of a message before it. Raises the errors of `say`.
        """
        said = ""

        async def show(message: OutboundMessage) -> None:
            answers = self.outcomes.known(said)
            text = f"{message.body.text}{_commands_below(message)}"
            await on_reply(text, any(is_part_of(message, reply) for reply in answers))

        address = self.address(agent)
        is_postponed = asyncio.Event()

        may_pass = self.passes(text)

        def postpone(reason: str, lets_pass: bool) -> None:
            if may_pass and lets_pass:
                return
            if not is_postponed.is_set():
                on_sign(ChatSign("postponed", reason))
            is_postponed.set()

        with (
            self.terminals[agent].attach(show),
            self.presence.follow(
                address,
                lambda _, draft: on_sign(ChatSign("draft", draft)),
                lambda _, tool: on_sign(ChatSign("tool", tool)),
            ),
            self.outcomes.postponements(address, postpone),
        ):
            said = (await self.terminals[agent].say(text)).id
            outcome = await unless(is_postponed, self.outcomes.of(said))
            for reply in outcome or self.outcomes.known(said):
                await self.delivery.finished(reply.id)


def _commands_below(message: OutboundMessage) -> str:
    """Return the commands of the buttons below *message*, as a list; a terminal has no buttons.

    A note can be undone and corrected at any time: these stand below no answer, nor does a command that it names.
    """
    offered = [each for each in message.buttons if not each.command.startswith(_ANY_TIME)]
    lines = [f"- {each.label}: `{each.command}`" for each in offered if each.command not in message.body.text]
    return "\n\n" + "\n".join(lines) if lines else ""
