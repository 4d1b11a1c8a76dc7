"""Composes the health of a gateway: its lacks and assumptions, in sentences."""

from collections.abc import Iterator

from gateway.agent.models.choose import provider_faults
from gateway.agent.tools.loading import tool_faults
from gateway.app.agents import assumed_windows
from gateway.app.budgets import unpriced_models
from gateway.app.resources import Resources
from gateway.automation.subagents import Subagents
from gateway.config import Config
from gateway.control.health import Health
from gateway.home import Home
from gateway.hooks import hook_faults
from gateway.inbound.overflow import Overflow
from gateway.plugins import CHANNELS, clashes


def health_of(resources: Resources, overflow: Overflow, subagents: Subagents) -> Health:
    """Return the health; commands of plug-ins report to it when they are loaded."""
    home, config = resources.home, resources.home.config
    return Health(
        resources.channels.bots,
        str(home.files.path),
        home.share.is_standby,
        depths=overflow.depths,
        helpers=subagents.running,
        disabled=home.files.disabled(),
        assumed=(*assumed_windows(config), *unpriced_models(config)),
        tool_troubles=resources.tool_servers.troubles,
        model_troubles=resources.troubles,
        plugin_faults=(*plugin_faults(config), *resources.gaps, *strays(home.files, config)),
        waits_for=home.share.told,
    )


def plugin_faults(config: Config) -> tuple[str, ...]:
    """Return a sentence for each plug-in that cannot be used; commands and configured accounts tell of their own."""
    providers = {model.provider for model in config.models.values()}
    return (*clashes(CHANNELS), *provider_faults(providers), *tool_faults(), *hook_faults())


def strays(home: Home, config: Config) -> Iterator[str]:
    """Yield a sentence for each folder of an agent that *config* lacks; homes on one Redis may share these folders."""
    if config.redis.url is not None:
        return
    for name in sorted(folder.name for folder in home.agents.iterdir()):
        if name not in config.agents and home.agent(name).history.is_dir():
            yield (
                f"agent {name} has files in {home.agent(name).root}, but config.toml has no [agents.{name}]: it does "
                f"not answer, and its jobs do not run. To use it: strandline agents add {name}; to put its files away: "
                f"strandline agents remove {name}"
            )
