"""Settings of bot accounts: their tokens, permitted people, and bindings to agents.

Each channel brings its own: the entry points of `strandline.channels` are subclasses of `BotSettings`.
"""

import difflib
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from msgspec import Struct
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    RootModel,
    SerializeAsAny,
    TypeAdapter,
    ValidationInfo,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

from adapters.abilities import Keeps
from adapters.channel import Adapter, Count
from gateway.errors import PluginError
from gateway.plugins import CHANNELS, Plugin, clashes, plugins
from gateway.settings.secrets import SecretSource, require_one_place
from gateway.settings.section import PERSON, AgentName, EnvName, PersonId, PlatformId, RootedPath, Section

Bot = TypeVar("Bot", bound="BotSettings")


def _enders(given: object) -> object:
    """Raise ValueError with one line for all allowed forms, instead of one for each."""
    people = given if isinstance(given, list | tuple) else [given]
    if given not in ("owner", "everyone") and not all(re.fullmatch(PERSON, str(person)) for person in people):
        raise ValueError('must be "owner", "everyone", or a list of people such as ["telegram:12345"]')
    return given


class GroupSettings(Section):
    """A group in which the bot may answer."""

    mention: bool = True
    """Answer only when mentioned or replied to."""
    people: tuple[PersonId, ...] = ()
    """People who may ask, besides the owner; empty: everybody there."""
    bots: bool = False
    """Answer other bots too."""
    bot_turns: int = Field(default=3, ge=1, le=50)
    """Most turns in a row with other bots, without a human's message between them."""
    agents_talk: int = Field(default=0, ge=0, le=50)
    """Most turns in a row between agents of this gateway, without a human's message between them."""
    may_end: Annotated[Literal["owner", "everyone"] | tuple[str, ...], BeforeValidator(_enders)] = "owner"
    """People who may end its conversation, besides the owner."""
    heard: int | None = Field(default=None, ge=0, le=200)
    """Most messages not addressed to the bot that the next addressed one brings along.

    Not set: the platform's default.
    """

    @property
    def named(self) -> tuple[str, ...]:
        """All people that it names."""
        return self.people if isinstance(self.may_end, str) else (*self.people, *self.may_end)


STAYS_CLOSED = ". Until then this account stays closed"
POLICIES = ("pairing", "owner", "closed")
"""Values of `direct`. None of them admits everybody."""


class ChannelResources(Struct, frozen=True):
    """The parts of the gateway that an adapter may use."""

    environ: Mapping[str, str]
    count: Count
    keeps: Keeps | None = None
    """Small texts that survive a restart; `None` while `doctor` asks."""


class BotSettings(Section):
    """Settings of a bot account of one channel, and how to open it; each channel has a subclass."""

    channel: ClassVar[str]
    """Name of the channel: the name of its entry point, and of its table `[channels.<name>.<account>]`."""
    needs_token: ClassVar[bool] = True
    person_id: ClassVar[str] = r"\S+"
    """Pattern of the platform's ids of people."""
    person_form: ClassVar[str] = "<id>"
    """Their form in words."""
    heard: ClassVar[int] = 20
    """Messages of a group used as context, unless the group sets its own number."""
    token_env: EnvName | None = None
    token_file: RootedPath | None = None
    direct: str = "pairing"
    """One of `POLICIES`; anything else is a `fault`, and keeps this account alone from starting."""
    people: tuple[PersonId, ...] = ()
    """Guests who need no pairing."""
    groups: dict[PlatformId, GroupSettings] = Field(default={})

    @abstractmethod
    def open(self, account: str, resources: ChannelResources) -> Adapter:
        """Return the adapter of *account*; import the platform's library here. Blocking work is allowed.

        Raises ConfigError if it cannot work as configured.
        """

    @classmethod
    def contradictions(cls, accounts: "Mapping[str, Self]", *, has_web: bool) -> Iterator[str]:
        """Yield the faults among *accounts*, the channel's own; *has_web*: the HTTP server is on."""
        yield from ()

    @model_validator(mode="after")
    def _has_one_token(self) -> Self:
        if self.needs_token:
            require_one_place("token", self.token_env, self.token_file)
        return self

    @model_validator(mode="after")
    def _knows_its_people(self) -> Self:
        named = [*self.people, *(person for group in self.groups.values() for person in group.named)]
        for person in named:
            if not person.startswith(f"{self.channel}:"):
                raise ValueError(f'people: {person} is on another platform; here they are "{self.person_shape()}"')
            if not self.is_person(person):
                raise ValueError(f'people: must be "{self.person_shape()}"')
        return self

    @classmethod
    def first_chat(cls, person_id: str) -> str | None:
        """Return the direct chat in which a bot can write to this person first; `None` if they have to begin."""
        return None

    @classmethod
    def person_shape(cls) -> str:
        """Return the form of its people in the configuration, such as `telegram:<numeric id>`."""
        return f"{cls.channel}:{cls.person_form}"

    @classmethod
    def is_person(cls, person: str) -> bool:
        """Return whether *person*, written `<channel>:<id>`, can be somebody on this platform."""
        return re.fullmatch(cls.person_id, person.partition(":")[2]) is not None

    def fault(self, account: str) -> str:
        """Return why this account cannot start, with the remedy, or an empty text; *account* is its name."""
        if self.direct in POLICIES:
            return ""
        known = ", ".join(f'"{policy}"' for policy in POLICIES)
        close = difflib.get_close_matches(self.direct, POLICIES, n=1)
        guess = f'did you mean "{close[0]}"? ' if close else ""
        return (
            f'channels.{self.channel}.{account}.direct: "{self.direct}" is not a policy; {guess}it is one of {known}'
            f"{STAYS_CLOSED}"
        )

    def token(self, account: str) -> SecretSource:
        """Return the source of the bot's token; *account* is its name in the file."""
        return SecretSource.of(f"channels.{self.channel}.{account}.token", self.token_env, self.token_file)

    def secrets(self, account: str) -> list[SecretSource]:
        return [self.token(account)] if self.needs_token or self.token_env or self.token_file else []


class UnavailableBot(BotSettings):
    """An account of a channel that cannot be loaded: it stays closed, says why, and the other accounts work."""

    needs_token: ClassVar[bool] = False
    reason: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _unread(cls, _: object) -> object:
        """Take no setting: only the missing channel knows what they mean."""
        return {}

    def fault(self, account: str) -> str:
        return self.reason

    def open(self, account: str, resources: ChannelResources) -> Adapter:
        raise PluginError(self.reason)


def channel_settings(plugin: Plugin) -> type[BotSettings]:
    """Return the settings of a channel's accounts. Raises PluginError."""
    found = plugin.load_class(BotSettings)  # type: ignore[type-abstract]
    if getattr(found, "channel", None) != plugin.name:
        raise plugin.fault(f'its class {found.__name__} must have channel = "{plugin.name}"')
    return found


def _available(plugin: Plugin) -> type[BotSettings]:
    try:
        return channel_settings(plugin)
    except PluginError as exc:
        return type("Unavailable", (UnavailableBot,), {"channel": plugin.name, "reason": str(exc)})


def _accounts(given: object, info: ValidationInfo) -> dict[str, dict[str, BotSettings]]:
    """Return the accounts by channel, each read by its channel's own settings."""
    if not given:
        return {}
    known = plugins(CHANNELS)
    used = [name for name in given if name in known] if isinstance(given, dict) else []
    tables: Any = {name: dict[AgentName, _available(known[name])] for name in used}  # type: ignore[misc]
    typed: Any = TypedDict  # its keys are what is installed, which no type checker knows
    shape: Any = with_config(ConfigDict(extra="forbid"))(typed("Channels", tables, total=False))
    found: dict[str, dict[str, BotSettings]] = TypeAdapter(shape).validate_python(given, context=info.context)
    return found


_Accounts = Annotated[dict[str, dict[str, SerializeAsAny[BotSettings]]], PlainValidator(_accounts)]


class ChannelsSettings(RootModel[_Accounts]):
    """The chat platforms that are used, each with its accounts by name."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    def bots(self) -> Iterator[tuple[str, BotSettings]]:
        """Yield every bot account with its name, platform by platform; the bot knows its channel."""
        for accounts in self.root.values():
            yield from accounts.items()

    def of(self, kind: type[Bot]) -> dict[str, Bot]:
        """Return the accounts of the channel whose settings are *kind*."""
        return {name: bot for name, bot in self.root.get(kind.channel, {}).items() if isinstance(bot, kind)}


def channel_faults(channels: ChannelsSettings) -> Iterator[str]:
    """Yield a sentence for each channel that cannot be used as it is installed."""
    yield from clashes(CHANNELS)
    for accounts in channels.root.values():
        yield from {bot.reason: None for bot in accounts.values() if isinstance(bot, UnavailableBot)}
