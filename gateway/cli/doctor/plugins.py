"""Checks of `strandline doctor` that load every plug-in of installed packages."""

from collections.abc import Callable, Iterator

from gateway.control.finding import Finding, Level
from gateway.errors import PluginError
from gateway.plugins import CHANNELS, COMMANDS, IMPORTERS, MODELS, TOOLS, Plugin, plugins


def check_plugins() -> Iterator[Finding]:
    """Yield the faults of plug-ins, and the names of those of other packages that work. Raises ConfigError."""
    from gateway.channels.settings import channel_settings
    from gateway.hooks.loading import hooks_of_package, packaged_hooks

    checks: dict[str, Callable[[Plugin], object]] = {
        CHANNELS: channel_settings,
        COMMANDS: Plugin.load,
        IMPORTERS: Plugin.load,
        MODELS: _unless_built_in,
        TOOLS: Plugin.load,
    }
    for group, load in checks.items():
        for plugin in plugins(group).values():
            yield from _check(plugin, load)
    for plugin in packaged_hooks():
        yield from _check(plugin, hooks_of_package)


def _unless_built_in(plugin: Plugin) -> object:
    """Load a package's plug-in; our own loads an SDK, which may be left out until a model needs it."""
    return None if plugin.is_built_in else plugin.load()


def _check(plugin: Plugin, load: Callable[[Plugin], object]) -> Iterator[Finding]:
    if plugin.clash:
        yield Finding("plug-in", Level.WARN, plugin.clash)
    try:
        load(plugin)
    except PluginError as exc:
        if str(exc) != plugin.clash:
            yield Finding("plug-in", Level.WARN, str(exc))
    else:
        if not plugin.is_built_in:
            yield Finding("plug-in", Level.OK, f"{plugin.group} {plugin.name} ({plugin.package})")
