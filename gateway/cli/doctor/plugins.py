"""Checks of `strandline doctor` that load every plug-in of installed packages."""

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Level
from gateway.errors import PluginError
from gateway.plugins import CHANNELS, Plugin, plugins


def check_plugins() -> Iterator[Finding]:
    """Yield the faults of plug-ins, and the names of those of other packages that work. Raises ConfigError."""
    for plugin in plugins(CHANNELS).values():
        yield from _check(plugin)


def _check(plugin: Plugin) -> Iterator[Finding]:
    from gateway.config.channels import channel_settings

    if plugin.clash:
        yield Finding("plug-in", Level.WARN, plugin.clash)
    try:
        channel_settings(plugin)
    except PluginError as exc:
        if str(exc) != plugin.clash:
            yield Finding("plug-in", Level.WARN, str(exc))
    else:
        if not plugin.is_built_in:
            yield Finding("plug-in", Level.OK, f"{plugin.group} {plugin.name} ({plugin.package})")
