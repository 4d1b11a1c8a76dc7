"""Recognises whose key or token a text is by its form, so that one pasted into the wrong prompt is not used."""

from workspaces.lazy_pattern import lazy_pattern

_KINDS = (
    ("Telegram bot token", lazy_pattern(r"[0-9]{5,}:[A-Za-z0-9_-]{10,}")),
    ("Anthropic key", lazy_pattern(r"sk-ant-[A-Za-z0-9_-]{10,}")),
    ("OpenRouter key", lazy_pattern(r"sk-or-[A-Za-z0-9_-]{10,}")),
    ("OpenAI key", lazy_pattern(r"sk-[A-Za-z0-9_-]{16,}")),
    ("Google key", lazy_pattern(r"AIza[A-Za-z0-9_-]{20,}")),
    ("Discord bot token", lazy_pattern(r"[A-Za-z0-9_-]{17,}\.[A-Za-z0-9_-]{5,8}\.[A-Za-z0-9_-]{20,}")),
    ("GitHub token", lazy_pattern(r"(gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}")),
    ("Slack token", lazy_pattern(r"xox[abpr]-[A-Za-z0-9-]{10,}")),
)
"""The first that fits: OpenAI's prefix is also the beginning of others'. As the platforms document or show them."""
KIND_OF_CHANNEL = {"telegram": "Telegram bot token", "discord": "Discord bot token"}
KIND_OF_PROVIDER = {"anthropic": "Anthropic key", "openai": "OpenAI key", "google": "Google key"}
_ALSO_OPENAI = {"OpenRouter key"}
"""Keys of servers that speak OpenAI's protocol."""


def key_kind(text: str) -> str:
    """Return whose key or token *text* is, such as `OpenAI key`; empty if its form is not known."""
    return next((kind for kind, form in _KINDS if form.fullmatch(text.strip())), "")


def misplaced(text: str, wanted: str) -> str:
    """Return whose key *text* is if it cannot be the *wanted* kind; empty if it may be."""
    found = key_kind(text)
    if not found or found == wanted or (wanted == "OpenAI key" and found in _ALSO_OPENAI):
        return ""
    return found
