"""The shape of the configuration: its tables, and each setting's default and range.

`docs/settings.md` explains each one; a test keeps the two in step.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gateway.admission.routing import Binding
from gateway.agent.budget import Budgets
from gateway.agent.entries import OFFLINE
from gateway.agent.mcp.settings import McpName, McpSettings
from gateway.agent.models.settings import ModelSettings
from gateway.agent.receipts import ReceiptLevel
from gateway.agent.settings import TurnLimits
from gateway.agent.window.settings import ContextSettings
from gateway.automation.settings import SubagentSettings
from gateway.channels.settings import ChannelsSettings
from gateway.config.backup import BackupSettings
from gateway.config.house import HouseSettings
from gateway.config.memory import MemorySettings
from gateway.config.presets import fill_in_preset
from gateway.config.web import WebSettings
from gateway.inbound.settings import QueueMode, QueueSettings
from gateway.schedule.settings import HeartbeatSettings, ScheduleSettings
from gateway.sessions.settings import SessionSettings
from gateway.settings.secrets import SecretSource, refuse_two_places
from gateway.settings.section import (
    AgentName,
    BotName,
    EnvName,
    PersonId,
    RootedPath,
    Section,
    ServerSection,
    Temperature,
    TimeZone,
    Url,
)
from gateway.settings.stores import QdrantSettings, RedisSettings
from gateway.turns.settings import AttachmentSettings
from workspaces.usage import Quotas


@dataclass(frozen=True, slots=True)
class BindingSettings(Binding):
    """A binding that does not fit every message, nor an account of any channel."""

    def __post_init__(self) -> None:
        if self.account is not None and self.channel is None:
            raise ValueError("account needs channel beside it")
        if not any((self.channel, self.chat, self.thread, self.person, self.space, self.role)):
            raise ValueError("needs at least one of channel, chat, thread, person, space, role")


class GatewaySettings(ServerSection):
    """Address at which the gateway accepts its owner's commands, and its log."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"


class MetricsSettings(Section):
    """Whether the gateway measures its work, and for which clients."""

    enabled: bool = False
    token_env: EnvName | None = None
    token_file: RootedPath | None = None

    @model_validator(mode="after")
    def _has_one_token_at_most(self) -> Self:
        refuse_two_places("token", self.token_env, self.token_file)
        return self

    def token(self) -> SecretSource | None:
        """Return the source of Prometheus's token, `None` if it needs none or metrics are off."""
        if not self.enabled or (self.token_env is None and self.token_file is None):
            return None
        return SecretSource.of("metrics.token", self.token_env, self.token_file)


class TraceSettings(Section):
    """Whether turns are traced, and the destination of their spans."""

    enabled: bool = False
    endpoint: Url = "http://127.0.0.1:4318/v1/traces"
    """OpenTelemetry's own default of a collector on this machine."""
    share: float = Field(default=1, gt=0, le=1)
    service: str = Field(default="strandline", min_length=1, max_length=100)


class OwnerSettings(Section):
    """The one person to whom the gateway belongs."""

    time_zone: TimeZone | None = None
    people: tuple[PersonId, ...] = ()
    deliver: BotName | None = None
    """Where notices and results of unprompted work are sent."""


class SignSettings(Section):
    """Signs that people see beside an answer, besides the channel's own."""

    reaction: str = Field(default="off", min_length=1, max_length=16)
    """An emoji set on the message meanwhile, or `off`."""
    receipts: ReceiptLevel = ReceiptLevel.SHORT
    """The line below an answer about what its turn did."""


class AgentSettings(Section):
    """One persona."""

    workspace: RootedPath | None = None
    """Default: `<home>/agents/<id>/workspace`."""
    model: str = OFFLINE
    fallbacks: tuple[str, ...] = ()
    temperature: Temperature | None = None
    queue: QueueMode | None = None
    """Default: the mode of `[queue]`."""
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    budget: Budgets = Budgets()


@dataclass(frozen=True, slots=True)
class LimitSettings(TurnLimits, Quotas):
    """Limits of a turn, a workspace, a queue and a shutdown."""

    drain_s: Annotated[float, Field(ge=0, le=600)] = 10
    approval_days: Annotated[int, Field(ge=1, le=365)] = 7
    person_a_minute: Annotated[int, Field(ge=1, le=10_000)] = 20
    person_burst: Annotated[int, Field(ge=1, le=10_000)] = 10
    answer_chars: Annotated[int, Field(ge=1_000, le=1_000_000)] = 40_000


class Config(Section):
    """The whole file; without one, agent `main` answers the terminal offline and everything else is closed."""

    gateway: GatewaySettings = GatewaySettings()
    metrics: MetricsSettings = MetricsSettings()
    traces: TraceSettings = TraceSettings()
    owner: OwnerSettings = OwnerSettings()
    agents: dict[AgentName, AgentSettings] = Field(default={"main": AgentSettings()}, min_length=1)
    bindings: tuple[BindingSettings, ...] = ()
    channels: ChannelsSettings = ChannelsSettings({})
    web: WebSettings = WebSettings()
    models: dict[AgentName, ModelSettings] = Field(default={})
    mcp: dict[McpName, McpSettings] = Field(default={})
    memory: Annotated[MemorySettings, BeforeValidator(fill_in_preset)] = MemorySettings()
    house: HouseSettings = HouseSettings()
    qdrant: QdrantSettings = QdrantSettings()
    redis: RedisSettings = RedisSettings()
    context: ContextSettings = ContextSettings()
    sessions: SessionSettings = SessionSettings()
    queue: QueueSettings = QueueSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    subagents: SubagentSettings = SubagentSettings()
    limits: LimitSettings = LimitSettings()
    attachments: AttachmentSettings = AttachmentSettings()
    signs: SignSettings = SignSettings()
    backup: BackupSettings = BackupSettings()

    @property
    def default_agent(self) -> str:
        """The agent for messages that no binding claims: `main`, else the first of the file."""
        return "main" if "main" in self.agents else next(iter(self.agents), "main")

    def secret_sources(self) -> tuple[SecretSource, ...]:
        """Return the sources of all configured secrets."""
        tokens = [source for account, bot in self.channels.bots() for source in bot.secrets(account)]
        keys = [model.api_key(name) for name, model in self.models.items()]
        keys += [
            self.metrics.token(),
            self.memory.embeddings.api_key(),
            self.qdrant.api_key(),
            self.redis.password(),
            self.redis.sentinel_password(),
            self.memory.rerank.api_key(),
        ]
        servers = [source for name, server in self.mcp.items() for source in server.secret_sources(name)]
        return (*tokens, *servers, *self.web.secret_sources(), *(key for key in keys if key is not None))
