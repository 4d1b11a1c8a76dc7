"""Converts an answer's Markdown to inert HTML."""

from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt

_DEEPEST = 100
"""Levels of nested lists and quotes, of which the parser's own limit is 20: at a deeper one it drops the rest of the
text."""


def to_html(markdown: str) -> str:
    """Return *markdown* as HTML: tags become text, images are left out, links lead to the web or a mailbox.

    Blocks nested too deeply are shown as source.
    """
    parser, links = _parser(), dict[str, Any]()
    tokens = parser.parse(markdown, links)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return f"<pre>{escape(markdown)}</pre>\n"
    for token in tokens:
        if token.type in {"th_open", "td_open"} and (style := token.attrs.pop("style", "")):
            token.attrs["class"] = str(style).removeprefix("text-align:")  # the page's policy forbids inline styles
    html: str = parser.renderer.render(tokens, parser.options, links)
    return html


def inline_html(markdown: str) -> str:
    """Return the words of *markdown* as HTML, as `to_html` does, without blocks and links: it may stand in a button."""
    parser, links = _parser(), dict[str, Any]()
    tokens = parser.parseInline(markdown, links)
    for token in tokens:
        token.children = [each for each in token.children or () if each.type not in {"link_open", "link_close"}]
    html: str = parser.renderer.render(tokens, parser.options, links)
    return html


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.disable(["image", "html_inline", "html_block"])
    parser.validateLink = _is_harmless  # type: ignore[method-assign]  # the library's own seam for this
    return parser


def _is_harmless(url: str) -> bool:
    return url.lower().startswith(("https://", "http://", "mailto:"))
