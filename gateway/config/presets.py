"""Presets of `[memory]`: the defaults that people know from OpenClaw and OneClaw."""

from collections.abc import Mapping
from types import MappingProxyType

from workspaces.prompt_limits import ONECLAW

_SEVEN_TO_THREE = {"vector_weight": 0.7, "keyword_weight": 0.3}
PRESETS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "openclaw": {
            **_SEVEN_TO_THREE,
            "min_score": 0.35,
            "chunking": "windows",
            "daily_notes_in_prompt": False,
            "recall": "off",
            "whole_tokens": 0,
            "hide_tools": ("save_memory", "update_memory", "search_history"),
        },
        "oneclaw": {
            **_SEVEN_TO_THREE,
            "file_chars": ONECLAW.file_chars,
            "today_chars": ONECLAW.today_chars,
            "yesterday_chars": ONECLAW.yesterday_chars,
            "whole_tokens": 0,
            "offer_tools": ("search_memory",),
        },
    }
)
"""What a preset changes (`tests/conformance` walks through the statements that they come from)."""


def fill_in_preset(values: object) -> object:
    """Return the *values* of `[memory]` with those of its preset, which explicit ones replace."""
    if not isinstance(values, dict):
        return values
    return {**PRESETS.get(str(values.get("preset")), {}), **values}
