"""Typed settings from the TOML file; errors name the key."""

from gateway.agent.mcp.settings import McpSettings
from gateway.agent.models.settings import ModelSettings
from gateway.channels.settings import (
    BotSettings,
    ChannelResources,
    ChannelsSettings,
    GroupSettings,
)
from gateway.config.backup import BackupSettings
from gateway.config.memory import EmbeddingSettings, MemorySettings, RerankSettings
from gateway.config.reading import read_config
from gateway.config.schema import (
    AgentSettings,
    Config,
    GatewaySettings,
    LimitSettings,
    MetricsSettings,
    OwnerSettings,
    SignSettings,
    TraceSettings,
)
from gateway.config.web import WebSettings
from gateway.settings.secrets import SecretSource
from gateway.settings.stores import QdrantSettings, RedisSettings
from gateway.settings.zone import OwnerZone, owner_zone
