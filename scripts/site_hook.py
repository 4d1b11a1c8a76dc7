"""The documentation's site: pages from outside `docs/`, links between them, the navigation, and `llms.txt`.

Functions that begin with `on_` are called by MkDocs, which is installed by `make site` alone.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs" / "README.md"
ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files that are pages of the site under another name, by their path from the root."""
_LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| \[[^\]]+\]\((?P<page>[^)]+)\) \| (?P<content>.+?) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page as the index lists it."""

    section: str
    page: str
    """Path within the site."""
    content: str


def listed() -> Iterator[SitePage]:
    """Yield the pages of docs/README.md, in its order; a folder stands for the pages in it."""
    _, *parts = _SECTION.split(INDEX.read_text("utf-8"))
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        for row in _ROW.finditer(text):
            path = (INDEX.parent / row["page"]).resolve()
            pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
            for page in pages:
                yield SitePage(section, _in_site(page) or row["page"], row["content"])


def linked(text: str, file: Path) -> str:
    """Return the Markdown of *file* with its links leading to pages of the site; others keep their words alone."""

    def rewritten(link: re.Match[str]) -> str:
        if ":" in link["target"]:
            return link[0]
        here = _in_site(file) or ""
        there = _in_site((file.parent / link["target"]).resolve())
        if there is None:
            return link["text"]
        return f"[{link['text']}]({os.path.relpath(there, Path(here).parent)}{link['anchor'] or ''})"

    return _LINK.sub(rewritten, text)


def _in_site(path: Path) -> str | None:
    """Return where *path* stands in the site, `None` if it does not."""
    if path.is_dir() and path.is_relative_to(INDEX.parent):
        return "pages.md"
    if not path.is_file() or not path.is_relative_to(ROOT):
        return None
    name = str(path.relative_to(ROOT))
    return ELSEWHERE.get(name) or (name.removeprefix("docs/") if name.startswith("docs/") else None)


def on_config(config: Any) -> Any:
    """Take the navigation from the index."""
    sections: dict[str, list[str]] = {}
    for each in listed():
        sections.setdefault(each.section, []).append(each.page)
    changes = [{"Changes": "changelog.md"}, {"All pages": "pages.md"}]
    config.nav = [*({name: pages} for name, pages in sections.items()), {"Project": changes}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand elsewhere."""
    from mkdocs.structure.files import File

    for name, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=linked((ROOT / name).read_text("utf-8"), ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files elsewhere lead to their pages."""
    source = page.file.abs_src_path
    return linked(markdown, Path(source)) if source else markdown


def on_post_build(config: Any) -> None:
    """Write `llms.txt`: the same index, for programs that read."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    section = ""
    for each in listed():
        if each.section != section:
            section = each.section
            lines += ["", f"## {section}", ""]
        address = "./" if each.page == "index.md" else each.page.removesuffix(".md") + "/"
        lines.append(f"- [{each.page.removesuffix('.md')}]({address}): {each.content}")
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
