"""`strandline memory migrate`: builds the index on a Qdrant server and compares it before it is used."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.invocation import Invocation, config_of, print_json
from gateway.errors import ConfigError
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.app.index_migration import Compared, Progress
    from gateway.config import Config, QdrantSettings
    from gateway.home import Home


def migrate(
    call: JsonCall,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the Qdrant server, such as http://qdrant:6333.")],
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the API key.")] = None,
) -> None:
    """Build every agent's index on a Qdrant server and compare its answers; then print the settings that use it.

    The gateway must not run meanwhile; its own index stays as it is.
    """
    from gateway.app.ownership import own
    from gateway.config import QdrantSettings

    place = call.existing_home
    config = config_of(place)
    if config.qdrant.url is not None:
        raise ConfigError(f"qdrant.url: the index is already on {config.qdrant.url}")
    server = _server(QdrantSettings, url, api_key_env)
    with own(place, "strandline memory migrate"), _bar() as progress:
        compared = asyncio.run(_build_and_compare(call.invocation, place, config, server, progress))
    _tell(compared, server, call.as_json)
    if not all(each.is_same for each in compared):
        raise typer.Exit(1)


def _server(kind: "type[QdrantSettings]", url: str, api_key_env: str | None) -> "QdrantSettings":
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python({"url": url, "api_key_env": api_key_env})
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"qdrant.{fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}") from exc


async def _build_and_compare(
    invocation: Invocation, home: "Home", config: "Config", server: "QdrantSettings", progress: "Progress"
) -> "list[Compared]":
    from gateway.app.index_migration import build_on_server

    return await build_on_server(home, config, server, invocation.environ_of(home), progress)


def _tell(compared: "list[Compared]", server: "QdrantSettings", as_json: bool) -> None:
    is_same = all(each.is_same for each in compared)
    if as_json:
        print_json({"same": is_same, "agents": [asdict(each) for each in compared]})
        return
    for each in compared:
        there = f"{each.entries_there:,} of {each.entries_here:,} entries copied"
        print(f"agent {each.agent}: {there}, {each.queries - len(each.different)} of {each.queries} answers the same")
        for question in each.different[:5]:
            print(f"    different: {visible(question)}")
    if not is_same:
        print("Nothing was changed here: the server's answers differ from those of this machine.")
        return
    print("The answers are the same. To use the server, add this to config.toml and restart the gateway:\n\n[qdrant]")
    print(f'url = "{server.url}"')
    if server.api_key_env:
        print(f'api_key_env = "{server.api_key_env}"')


@contextmanager
def _bar() -> "Iterator[Progress]":
    """Show progress on standard error if it is a terminal; otherwise only the outcome is printed."""
    if not sys.stderr.isatty():
        yield lambda _agent, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        tasks: dict[str, object] = {}

        def tell(agent: str, done: int, total: int) -> None:
            task = tasks.setdefault(agent, bar.add_task(agent)) if agent not in tasks else tasks[agent]
            bar.update(task, completed=done, total=total)  # type: ignore[arg-type]  # rich's own id

        yield tell
