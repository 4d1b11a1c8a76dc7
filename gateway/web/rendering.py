"""Rendering of the page's views: templates in which every value is escaped and every hidden character shown."""

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from gateway.runtime.escape import visible
from gateway.web.markdown_html import inline_html, to_html

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


async def render(template: str, facts: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """Return *template* filled with *facts*; on a thread, as a long page takes a while."""
    return HTMLResponse(await asyncio.to_thread(_render, template, facts), status)


def _render(template: str, facts: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(facts)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # 15 ms and 1.8 MB, with the first view

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update({each.__name__: each for each in _FILTERS})
    return environment


def _shown(value: Any) -> Any:
    """Return *value* with hidden characters as escapes; text that is HTML already stays."""
    return visible(value) if type(value) is str and not value.isprintable() else value


def markdown(text: str) -> Markup:
    """Return Markdown as inert HTML."""
    return Markup(to_html(visible(text)))  # noqa: S704  # tags in the text became text


def inline(text: str) -> Markup:
    """Return a line of Markdown as inert HTML, without a paragraph around it."""
    return Markup(inline_html(visible(text)))  # noqa: S704  # as above


def exact(text: str) -> Markup:
    """Return *text* with every character as it is, for a field that will be sent back."""
    return escape(text)


def size(count: int) -> str:
    """Return a number of bytes for people."""
    return f"{count:,} B" if count < 1_000 else f"{count / 1_000:,.1f} kB"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return *count* with its *noun*: "1 note", "2 notes"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def cause(name: str) -> str:
    """Return a cause of costs for people."""
    words = {"cron": "jobs", "flush": "saving notes", "token": "programs", "guest": "guests", "group": "groups"}
    return words.get(name, name)


def short(text: str, most: int) -> str:
    """Return at most *most* characters of *text*."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def diff(text: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff, each with its kind: `add`, `del`, `hunk` or `same`."""
    kinds = {"+": "add", "-": "del", "@": "hunk", "\\": "hunk"}
    return [(kinds.get(line[:1], "same"), line if line[:1] == "@" else line[1:]) for line in text.split("\n")]


_FILTERS = (markdown, inline, exact, size, counted, cause, short, diff)
