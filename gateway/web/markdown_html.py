"""This file turns an answer's Markdown into HTML that can do nothing but be read."""

from functools import cache

from markdown_it import MarkdownIt


def marked(markdown: str) -> str:
    """Return *markdown* as HTML: tags in it are text, there are no pictures, links lead to the web or a mailbox."""
    html: str = _parser().render(markdown)
    return html


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.disable(["image", "html_inline", "html_block"])
    parser.validateLink = _is_harmless  # type: ignore[method-assign]  # the library's own seam for this
    return parser


def _is_harmless(url: str) -> bool:
    return url.lower().startswith(("https://", "http://", "mailto:"))
