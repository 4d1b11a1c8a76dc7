"""This file is the shape of what Discord tells us: the few fields that we read, everything else passed over."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Snowflake = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}$")]
"""An id of Discord's, which tells when it was given."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of Discord's gateway."""

    name: str
    data: object


class Wire(BaseModel):
    """An object of Discord's; ids ("snowflakes") are digits in a string."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class User(Wire):
    """Somebody on Discord: a person, a bot, or the face of a webhook."""

    id: str
    username: str
    global_name: str | None = None
    bot: bool = False


class Member(Wire):
    """What a server knows of somebody."""

    nick: str | None = None
    roles: tuple[str, ...] = ()
    user: User | None = None
    """Not set within a message, which names its author itself."""


class Attachment(Wire):
    """A file beside a message."""

    filename: str
    size: int
    """In bytes."""
    id: str = ""
    content_type: str | None = None
    duration_secs: float | None = None
    """Set for voice messages alone."""
    url: str = Field(default="", repr=False)
    """Signed, for about a day."""


class Sticker(Wire):
    """A picture instead of words."""

    name: str


class Reference(Wire):
    """Why a message points at another one."""

    type: int = 0
    """0 a reply (or a pin, a crosspost), 1 a forward."""


class Content(Wire):
    """What a message says."""

    content: str = ""
    attachments: tuple[Attachment, ...] = ()
    sticker_items: tuple[Sticker, ...] = ()


class Snapshot(Wire):
    """A forwarded message, as it was."""

    message: Content


class Message(Content):
    """A message as `MESSAGE_CREATE` and `MESSAGE_UPDATE` carry it."""

    id: str
    channel_id: str
    author: User
    timestamp: datetime
    type: int = 0
    edited_timestamp: datetime | None = None
    guild_id: str | None = None
    member: Member | None = None
    webhook_id: str | None = None
    mentions: tuple[User, ...] = ()
    mention_roles: tuple[str, ...] = ()
    embeds: tuple[object, ...] = ()
    components: tuple[object, ...] = ()
    poll: object = None
    message_reference: Reference | None = None
    message_snapshots: tuple[Snapshot, ...] = ()
    referenced_message: "Message | None" = None


class Numbered(Wire):
    """A message of a history, of which no more is known than which it is and whose; the rest is kept as it came."""

    model_config = ConfigDict(extra="allow", frozen=True)
    id: Snowflake
    author: User


class Channel(Wire):
    """A place on Discord; a thread and a forum's post are channels too, with a parent."""

    id: str
    type: int
    parent_id: str | None = None
    last_message_id: Snowflake | None = None
    """The newest message that was ever written there; it may be gone."""


class RoleTags(Wire):
    """What a role belongs to."""

    bot_id: str | None = None


class Role(Wire):
    """A role of a server; each bot that was invited with permissions has one of its own."""

    id: str
    tags: RoleTags | None = None


class Guild(Wire):
    """A server, as `GUILD_CREATE` tells of it; `THREAD_LIST_SYNC` has its threads alone, and no id."""

    id: str = ""
    channels: tuple[Channel, ...] = ()
    threads: tuple[Channel, ...] = ()
    roles: tuple[Role, ...] = ()


class CommandOption(Wire):
    """What somebody wrote into a field of a slash command."""

    name: str
    value: object = None


class InteractionData(Wire):
    """A slash command, or a button that was pressed."""

    type: int = 0
    """Of a command: 1 is one that is typed."""
    name: str = ""
    options: tuple[CommandOption, ...] = ()
    component_type: int = 0
    """2 is a button."""
    custom_id: str = ""


class Interaction(Wire):
    """Something that somebody did with Discord's own controls, as `INTERACTION_CREATE` carries it."""

    id: Snowflake
    type: int
    token: str = Field(repr=False)
    """By which it is answered, for a quarter of an hour: a secret as long."""
    channel_id: str | None = None
    channel: Channel | None = None
    guild_id: str | None = None
    member: Member | None = None
    user: User | None = None
    data: InteractionData | None = None
    message: Message | None = None
    """Whose button was pressed."""


class CommandReference(Wire):
    """Which interaction a message answers."""

    id: str


class Emoji(Wire):
    """A sign below a message; one of Discord's servers has an id."""

    id: str | None = None
    name: str | None = None


class Reaction(Wire):
    """How often a sign stands below a message."""

    emoji: Emoji
    me: bool = False
    """Whether it is ours."""


class Standing(Wire):
    """A message of a channel, as Discord shows it when it is asked."""

    id: str
    content: str = ""
    attachments: tuple[Attachment, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    interaction_metadata: CommandReference | None = None


class Application(Wire):
    """What Discord knows of the application that a bot belongs to."""

    flags: int = 0


class CommandField(Wire):
    """A field of a slash command."""

    type: int
    name: str
    description: str
    required: bool = False


class MenuCommand(Wire):
    """A slash command, as Discord offers it."""

    name: str
    description: str
    options: tuple[CommandField, ...] = ()
    contexts: tuple[int, ...] | None = None
    integration_types: tuple[int, ...] | None = None
