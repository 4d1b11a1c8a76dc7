"""Discord as a channel: the settings of a bot, and opening it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field

from gateway.channels.settings import BotSettings, ChannelResources, GroupSettings
from gateway.settings.section import ChatId, SocketUrl, Url

if TYPE_CHECKING:
    from adapters.channel import Adapter


class DiscordSettings(BotSettings):
    """One Discord bot; its groups are channels of servers, by the channel's id."""

    channel: ClassVar[str] = "discord"
    person_id: ClassVar[str] = "[0-9]+"
    person_form: ClassVar[str] = "<numeric id>"
    groups: dict[ChatId, GroupSettings] = Field(default={})
    base_url: Url = "https://discord.com/api/v10"
    gateway_url: SocketUrl = "wss://gateway.discord.gg/"
    cdn_url: Url = "https://cdn.discordapp.com"
    catch_up_hours: int = Field(default=24, ge=0, le=168)
    """Hours of missed messages to fetch after downtime; 0: none."""
    catch_up_messages: int = Field(default=100, ge=1, le=1_000)
    """Per chat, latest ones."""

    @classmethod
    def first_chat(cls, person_id: str) -> str:
        """Return a name of the chat with this person, which the adapter opens when it sends there."""
        return f"@{person_id}"

    def open(self, account: str, resources: ChannelResources) -> "Adapter":
        """Load discord.py, which takes up to a second and 45 MB, and return the bot's adapter."""
        from adapters.discord import DiscordAdapter, Servers
        from adapters.discord.missed import CatchUp

        servers = Servers(self.base_url, self.gateway_url, self.cdn_url)
        token = self.token(account).read(resources.environ)
        catch_up = CatchUp(timedelta(hours=self.catch_up_hours), self.catch_up_messages, frozenset(self.groups))
        return DiscordAdapter(
            account, token, resources.count, servers=servers, keeps=resources.keeps, catch_up=catch_up
        )

    @classmethod
    def contradictions(cls, accounts: Mapping[str, Self], *, has_web: bool) -> Iterator[str]:
        """Yield accounts with different addresses: the SDK keeps one address of the REST API per process."""
        if len({bot.base_url for bot in accounts.values()}) > 1:
            yield f"channels.discord: all accounts need the same base_url; give it to each of {', '.join(accounts)}"
