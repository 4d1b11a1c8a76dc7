"""Shapes of Discord's events and objects: the few fields that we read; all others are ignored."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Struct
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Snowflake = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}$")]
"""A Discord id, which contains its creation time."""


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except (OverflowError, OSError) as exc:  # a year before the first or after the last
        raise ValueError("out of the range of UTC times") from exc


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""A time in UTC."""


class GatewayEvent(Struct, frozen=True):
    name: str
    data: object


class DiscordObject(BaseModel):
    """A Discord object; ids ("snowflakes") are digits in a string."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class User(DiscordObject):
    """A Discord user: a person, a bot, or the identity of a webhook."""

    id: str
    username: str
    global_name: str | None = None
    bot: bool = False


class MemberData(DiscordObject):
    """A server's data about a user."""

    nick: str | None = None
    roles: tuple[str, ...] = ()
    user: User | None = None
    """Not set within a message, which names its author itself."""


class AttachmentData(DiscordObject):
    """A file attached to a message."""

    filename: str
    size: int
    """In bytes."""
    id: str = ""
    content_type: str | None = None
    duration_secs: float | None = None
    """Set for voice messages only."""
    url: str = Field(default="", repr=False)
    """Signed, for about a day."""


class Sticker(DiscordObject):
    """A sticker: a picture instead of text."""

    name: str


class Reference(DiscordObject):
    """A message's pointer to another one."""

    type: int = 0
    """0 a reply (or a pin, a crosspost), 1 a forward."""


class MessageContent(DiscordObject):
    content: str = ""
    attachments: tuple[AttachmentData, ...] = ()
    sticker_items: tuple[Sticker, ...] = ()


class Snapshot(DiscordObject):
    """A forwarded message, as it was when forwarded."""

    message: MessageContent


class MessageData(MessageContent):
    """A message as `MESSAGE_CREATE` and `MESSAGE_UPDATE` carry it."""

    id: Snowflake
    channel_id: Snowflake
    author: User
    timestamp: Moment
    type: int = 0
    edited_timestamp: Moment | None = None
    guild_id: str | None = None
    member: MemberData | None = None
    webhook_id: str | None = None
    mentions: tuple[User, ...] = ()
    mention_roles: tuple[str, ...] = ()
    embeds: tuple[object, ...] = ()
    components: tuple[object, ...] = ()
    poll: object = None
    message_reference: Reference | None = None
    message_snapshots: tuple[Snapshot, ...] = ()
    referenced_message: "MessageData | None" = None


class Deletion(DiscordObject):
    """Messages that were deleted: one, or many at once."""

    channel_id: Snowflake
    id: Snowflake | None = None
    ids: tuple[Snowflake, ...] = ()


class Numbered(DiscordObject):
    """A message of a history: only its id and author are parsed, the rest is kept as received."""

    model_config = ConfigDict(extra="allow", frozen=True)
    id: Snowflake
    author: User


class Channel(DiscordObject):
    """A Discord channel; a thread and a forum's post are channels too, with a parent."""

    id: str
    type: int
    name: str | None = None
    parent_id: str | None = None
    last_message_id: Snowflake | None = None
    """The newest message ever written there; it may be deleted."""


class RoleTags(DiscordObject):
    """The owner of a role."""

    bot_id: str | None = None


class Role(DiscordObject):
    """A role of a server; each bot that was invited with permissions has one of its own."""

    id: str
    name: str = ""
    tags: RoleTags | None = None


class Guild(DiscordObject):
    """A server, as in `GUILD_CREATE`; `THREAD_LIST_SYNC` has only its threads, and no id."""

    id: str = ""
    channels: tuple[Channel, ...] = ()
    threads: tuple[Channel, ...] = ()
    roles: tuple[Role, ...] = ()


class CommandOption(DiscordObject):
    """An argument of a slash command."""

    name: str
    value: object = None


class InteractionData(DiscordObject):
    """A slash command, or a pressed button."""

    type: int = 0
    """For commands: 1 is a typed one."""
    name: str = ""
    options: tuple[CommandOption, ...] = ()
    component_type: int = 0
    """2 is a button."""
    custom_id: str = ""


class Interaction(DiscordObject):
    """Use of one of Discord's own controls, as in `INTERACTION_CREATE`."""

    id: Snowflake
    type: int
    token: str = Field(repr=False)
    """Token for answering, valid for a quarter of an hour and secret for as long."""
    channel_id: str | None = None
    channel: Channel | None = None
    guild_id: str | None = None
    member: MemberData | None = None
    user: User | None = None
    data: InteractionData | None = None
    message: MessageData | None = None
    """The message with the pressed button."""


class CommandReference(DiscordObject):
    """The interaction that a message answers."""

    id: str


class Emoji(DiscordObject):
    """A reaction's emoji; a server's own emoji has an id."""

    id: str | None = None
    name: str | None = None


class Reaction(DiscordObject):
    """Number of equal reactions below a message."""

    emoji: Emoji
    me: bool = False
    """Whether one is ours."""


class PostedMessage(DiscordObject):
    """A channel's message, as returned by a request."""

    id: str
    content: str = ""
    attachments: tuple[AttachmentData, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    interaction_metadata: CommandReference | None = None


class Application(DiscordObject):
    """Discord's data about the application that a bot belongs to."""

    flags: int = 0


class CommandField(DiscordObject):
    type: int
    name: str
    description: str
    required: bool = False


class MenuCommand(DiscordObject):
    """A slash command as offered by Discord."""

    name: str
    description: str
    options: tuple[CommandField, ...] = ()
    contexts: tuple[int, ...] | None = None
    integration_types: tuple[int, ...] | None = None
