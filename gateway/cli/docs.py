"""`strandline docs`: the documentation of this version, read in the terminal."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.call import Call
from gateway.errors import ConfigError


def docs(
    call: Call,
    page: Annotated[str | None, typer.Argument(metavar="[PAGE]", help="Name of a page; none lists all.")] = None,
) -> None:
    """Read the documentation: lists its pages, or shows one."""
    files = pages()
    if page is None:
        for name, file in files.items():
            print(f"{name:<16} {_title(file)}")
        return
    name = Path(page).name.removesuffix(".md")
    if name not in files:
        from gateway.config.reading import nearest

        raise ConfigError(f"the documentation has no page {name}; {nearest(name, files)}")
    text = files[name].read_text("utf-8")
    if sys.stdout.isatty():
        _show(text, call.invocation.environ)
    else:
        print(text, end="")


def pages() -> Mapping[str, Path]:
    """Return the pages by name: those of the installed package, or of the checkout that runs."""
    package = Path(__file__).parents[1]
    shipped = package / "docs"
    folder = shipped if shipped.is_dir() else package.parent / "docs"
    return {file.stem: file for file in sorted(folder.glob("*.md")) if file.stem != "README"}


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("#").strip()


def _show(text: str, environ: Mapping[str, str]) -> None:
    """Show Markdown in the reader's pager; without one, on the terminal."""
    from rich.console import Console

    from gateway.cli.markdown import TerminalMarkdown
    from gateway.cli.redacted_output import styled_output

    console = Console(file=styled_output())
    with console.capture() as drawn:
        console.print(TerminalMarkdown(text, hyperlinks=False))
    pager = shlex.split(environ.get("PAGER", "less"))
    if pager and shutil.which(pager[0]):
        subprocess.run(pager, input=drawn.get().encode(), env={"LESS": "-FRX", **environ}, check=False)  # noqa: S603  # theirs
    else:
        console.file.write(drawn.get())
