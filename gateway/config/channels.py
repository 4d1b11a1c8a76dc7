"""Settings of bot accounts: their tokens, permitted people, and bindings to agents."""

import difflib
import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gateway.config.secrets import SecretSource
from gateway.config.section import PERSON, AgentName, ChatId, EnvName, PersonId, RootedPath, Section, SocketUrl, Url


class BindingSettings(Section):
    """Routes matching messages to an agent; the most specific binding wins."""

    agent: str
    channel: Literal["telegram", "discord"] | None = None
    account: str | None = None
    chat: str | None = None
    thread: str | None = None
    person: PersonId | None = None
    space: ChatId | None = None
    role: ChatId | None = None

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.account is not None and self.channel is None:
            raise ValueError("account needs channel beside it")
        if not any((self.channel, self.chat, self.thread, self.person, self.space, self.role)):
            raise ValueError("needs at least one of channel, chat, thread, person, space, role")
        return self


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


POLICIES = ("pairing", "owner", "closed")
"""Values of `direct`. None of them admits everybody."""


class BotSettings(Section):
    """Settings of every bot account: its token, and the people who may talk to it."""

    channel: ClassVar[str]
    token_env: EnvName | None = None
    token_file: RootedPath | None = None
    heard: ClassVar[int]
    """Messages of a group used as context, unless the group sets its own number."""
    direct: str = "pairing"
    """One of `POLICIES`; anything else is `policy_fault`, and keeps this account alone from starting."""
    people: tuple[PersonId, ...] = ()
    """Guests who need no pairing."""
    groups: dict[ChatId, GroupSettings] = Field(default={})

    @model_validator(mode="after")
    def _has_one_token(self) -> Self:
        if (self.token_env is None) == (self.token_file is None):
            raise ValueError("needs either token_env, the name of an environment variable, or token_file, a path")
        return self

    @model_validator(mode="after")
    def _knows_its_people(self) -> Self:
        named = [*self.people, *(person for group in self.groups.values() for person in group.named)]
        for person in named:
            if not person.startswith(f"{self.channel}:"):
                raise ValueError(
                    f'people: {person} is on another platform; here they are "{self.channel}:<numeric id>"'
                )
        return self

    def policy_fault(self, account: str) -> str:
        """Return the fault of its policy with the remedy, or an empty text; *account* is its name."""
        if self.direct in POLICIES:
            return ""
        known = ", ".join(f'"{policy}"' for policy in POLICIES)
        close = difflib.get_close_matches(self.direct, POLICIES, n=1)
        guess = f'did you mean "{close[0]}"? ' if close else ""
        return (
            f'channels.{self.channel}.{account}.direct: "{self.direct}" is no policy; {guess}it is one of {known}. '
            "Until then this account stays closed"
        )

    def token(self, account: str) -> SecretSource:
        """Return the source of the bot's token; *account* is its name in the file."""
        key = "token_env" if self.token_env is not None else "token_file"
        return SecretSource(f"channels.{self.channel}.{account}.{key}", self.token_env, self.token_file, in_header=True)

    def secrets(self, account: str) -> list[SecretSource]:
        """Return the sources of all secrets of this account."""
        return [self.token(account)]


_TELEGRAM = "https://api.telegram.org"


class TelegramSettings(BotSettings):
    """One Telegram bot."""

    channel: ClassVar[str] = "telegram"
    heard: ClassVar[int] = 50
    base_url: Url = _TELEGRAM
    mode: Literal["polling", "webhook"] = "polling"
    poll_timeout_s: int = Field(default=30, ge=1, le=50)
    webhook_url: Url | None = None
    webhook_secret_env: EnvName | None = None
    webhook_secret_file: RootedPath | None = None
    webhook_connections: int = Field(default=40, ge=1, le=100)
    moved: dict[ChatId, ChatId] = Field(default={})
    """Groups that became supergroups: their old id, as in `groups`, and their current one."""

    @model_validator(mode="after")
    def _has_its_webhook(self) -> Self:
        given = [self.webhook_url, self.webhook_secret_env, self.webhook_secret_file]
        if self.mode == "polling":
            if any(given):
                raise ValueError('has settings of a webhook, but no mode = "webhook"')
            return self
        if self.webhook_url is None:
            raise ValueError(
                "needs webhook_url, the address at which Telegram reaches this gateway, such as "
                '"https://bot.example.org/telegram/home"'
            )
        if self.base_url == _TELEGRAM and not self.webhook_url.startswith("https://"):
            raise ValueError("webhook_url must begin with https://: Telegram brings updates no other way")
        if (self.webhook_secret_env is None) == (self.webhook_secret_file is None):
            raise ValueError(
                "needs either webhook_secret_env, the name of an environment variable, or webhook_secret_file, a path; "
                "make a secret with: openssl rand -hex 32"
            )
        return self

    def webhook_secret(self, account: str) -> SecretSource:
        """Return the source of the secret that Telegram sends with each update."""
        key = "webhook_secret_env" if self.webhook_secret_env is not None else "webhook_secret_file"
        return SecretSource(
            f"channels.telegram.{account}.{key}", self.webhook_secret_env, self.webhook_secret_file, in_header=True
        )

    def secrets(self, account: str) -> list[SecretSource]:
        """Return the source of the token, and in webhook mode that of the webhook's secret."""
        return [self.token(account), *([self.webhook_secret(account)] if self.mode == "webhook" else [])]


class DiscordSettings(BotSettings):
    """One Discord bot; its groups are channels of servers, by the channel's id."""

    channel: ClassVar[str] = "discord"
    heard: ClassVar[int] = 20
    base_url: Url = "https://discord.com/api/v10"
    gateway_url: SocketUrl = "wss://gateway.discord.gg/"
    cdn_url: Url = "https://cdn.discordapp.com"
    catch_up_hours: int = Field(default=24, ge=0, le=168)
    """Hours of missed messages to fetch after downtime; 0: none."""
    catch_up_messages: int = Field(default=100, ge=1, le=1_000)
    """Per chat, latest ones."""


class ChannelsSettings(Section):
    """The chat platforms, each with its accounts by name."""

    telegram: dict[AgentName, TelegramSettings] = Field(default={})
    discord: dict[AgentName, DiscordSettings] = Field(default={})

    def bots(self) -> Iterator[tuple[str, BotSettings]]:
        """Yield every bot account with its name, platform by platform; the bot knows its channel."""
        yield from self.telegram.items()
        yield from self.discord.items()
