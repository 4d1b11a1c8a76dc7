"""Parsing of slash commands and of button presses below our messages; pure."""

from datetime import timedelta

from msgspec import Struct

from adapters.channel import Address, InboundMessage, Via
from adapters.discord.parse import EPOCH, DiscordBot, IgnoredEvent, person
from adapters.discord.places import ChatLocation
from adapters.discord.wire import Interaction

_COMMAND, _COMPONENT = 2, 3
"""Types of interactions: a slash command, and the use of a message component."""
_TYPED, _BUTTON = 1, 2
_SLASH = "slash"


class Deferred(Struct, frozen=True):
    """A slash command that Discord shows as pending until it is answered."""

    id: str
    token: str

    @classmethod
    def of(cls, target: str | None) -> "Deferred | None":
        """Return the command that `str` wrote into *target*; `None` if that is a message's id or empty."""
        mark, _, rest = (target or "").partition(":")
        number, _, token = rest.partition(":")
        return cls(number, token) if mark == _SLASH else None

    def __str__(self) -> str:
        return f"{_SLASH}:{self.id}:{self.token}"


def parse_interaction(
    interaction: Interaction, place: ChatLocation | None, me: DiscordBot
) -> InboundMessage | IgnoredEvent:
    """Return a slash command or button press in *place* as if it were typed, or the reason for ignoring it.

    Discord gives no time; the id begins with the milliseconds since `EPOCH`, above 22 bits of other data.
    """
    user = interaction.member.user if interaction.member else interaction.user
    said = _command_text(interaction, me)
    if user is None or said is None:
        return IgnoredEvent.NO_COMMAND
    if place is None:
        return IgnoredEvent.NO_CHAT
    text, via, target = said
    return InboundMessage(
        address=Address("discord", me.account, place.chat, place.thread),
        id=interaction.id,
        sender=person(user, interaction.member),
        kind=place.kind,
        text=text,
        is_for_us=True,
        sent_at=EPOCH + timedelta(milliseconds=int(interaction.id) >> 22),
        via=via,
        target=target,
        space=interaction.guild_id,
        chat_name=place.name,
    )


def _command_text(interaction: Interaction, me: DiscordBot) -> tuple[str, Via, str] | None:
    """Return the command as text, how it was given, and the reference for its answer."""
    data, below = interaction.data, interaction.message
    if data is None:
        return None
    if interaction.type == _COMMAND and data.type == _TYPED:
        words = [str(option.value) for option in data.options if option.value is not None]
        return " ".join([f"/{data.name}", *words]), Via.SLASH, str(Deferred(interaction.id, interaction.token))
    is_button = interaction.type == _COMPONENT and data.component_type == _BUTTON
    if is_button and below is not None and below.author.id == me.id:
        return data.custom_id, Via.BUTTON, below.id
    return None
