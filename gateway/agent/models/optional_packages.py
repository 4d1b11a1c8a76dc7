"""This file says which package a provider's client needs that is not always installed, and whether it is."""

from importlib.util import find_spec

_EXTRAS = {"anthropic": ("anthropic", "anthropic"), "google": ("google.genai", "google")}
"""Module and extra, by provider; the clients of the others are always there."""


def missing_extra(provider: str) -> str | None:
    """Return the command that installs what *provider* needs, `None` if nothing is missing; nothing is imported."""
    if provider not in _EXTRAS:
        return None
    module, extra = _EXTRAS[provider]
    try:
        is_there = find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is not there either
        is_there = False
    return None if is_there else f"pip install 'strandline[{extra}]'"
