"""This file is the shape of what Discord tells us: the few fields that we read, everything else passed over."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict


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


class Attachment(Wire):
    """A file beside a message."""

    filename: str
    size: int
    """In bytes."""


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
    """A message as `MESSAGE_CREATE` carries it."""

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
    message_reference: Reference | None = None
    message_snapshots: tuple[Snapshot, ...] = ()
    referenced_message: "Message | None" = None


class Channel(Wire):
    """A place on Discord; a thread and a forum's post are channels too, with a parent."""

    id: str
    type: int
    parent_id: str | None = None


class RoleTags(Wire):
    """What a role belongs to."""

    bot_id: str | None = None


class Role(Wire):
    """A role of a server; each bot that was invited with permissions has one of its own."""

    id: str
    tags: RoleTags | None = None


class Guild(Wire):
    """A server, as `GUILD_CREATE` tells of it."""

    channels: tuple[Channel, ...] = ()
    threads: tuple[Channel, ...] = ()
    roles: tuple[Role, ...] = ()
