"""Telegram as a channel: the settings of a bot, and opening it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateway.channels.settings import BotSettings, ChannelResources, GroupSettings
from gateway.settings.secrets import SecretSource
from gateway.settings.section import ChatId, EnvName, RootedPath, Url

if TYPE_CHECKING:
    from adapters.channel import Adapter

_TELEGRAM = "https://api.telegram.org"


class TelegramSettings(BotSettings):
    channel: ClassVar[str] = "telegram"
    person_id: ClassVar[str] = "[0-9]+"
    person_form: ClassVar[str] = "<numeric id>"
    heard: ClassVar[int] = 50
    groups: dict[ChatId, GroupSettings] = Field(default={})
    base_url: Url = _TELEGRAM
    mode: Literal["polling", "webhook"] = "polling"
    poll_timeout_s: int = Field(default=30, ge=1, le=50)
    webhook_url: Url | None = None
    webhook_secret_env: EnvName | None = None
    webhook_secret_file: RootedPath | None = None
    webhook_connections: int = Field(default=40, ge=1, le=100)
    moved: dict[ChatId, ChatId] = Field(default={})
    """Groups that became supergroups: their old id, as in `groups`, and their current one."""

    @classmethod
    def first_chat(cls, person_id: str) -> str:
        """Return the person's own id, which a direct chat has."""
        return person_id

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
            raise ValueError("webhook_url must begin with https://: Telegram delivers updates only to such addresses")
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

    def open(self, account: str, resources: ChannelResources) -> "Adapter":
        """Load aiogram, which takes up to a second and 30 MB, and return the bot's adapter."""
        from adapters.telegram import Groups, LongPoll, TelegramAdapter, Webhook

        way: LongPoll | Webhook = LongPoll(self.poll_timeout_s)
        token = self.token(account).read(resources.environ)
        if self.webhook_url is not None:
            secret = self.webhook_secret(account).read(resources.environ)
            way = Webhook(self.webhook_url, secret, self.webhook_connections)
        groups = Groups({chat: not group.mention for chat, group in self.groups.items()}, self.moved)
        return TelegramAdapter(account, token, resources.count, base_url=self.base_url, way=way, groups=groups)

    @classmethod
    def contradictions(cls, accounts: Mapping[str, Self], *, has_web: bool) -> Iterator[str]:
        """Yield webhooks without the HTTP server, which is off by default."""
        for account, bot in accounts.items():
            if bot.mode == "webhook" and not has_web:
                yield (
                    f'channels.telegram.{account}: mode = "webhook" needs the HTTP server; set enabled = true under '
                    f"[web]"
                )
