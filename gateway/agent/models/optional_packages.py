"""Optional packages of provider clients: which one a provider needs, and whether it is installed."""

from importlib.util import find_spec

from workspaces.extras import install_command

_EXTRAS = {"anthropic": ("anthropic", "anthropic"), "google": ("google.genai", "google")}
"""Module and extra, by provider; the clients of the others are always installed."""


def missing_extra(provider: str) -> str | None:
    """Return the command that installs the package missing for *provider*, `None` if none is; imports nothing."""
    if provider not in _EXTRAS:
        return None
    module, extra = _EXTRAS[provider]
    try:
        is_there = find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing too
        is_there = False
    return None if is_there else install_command(extra)
