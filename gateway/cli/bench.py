"""This file is `strandline bench …`: the project's own measurements, for whoever has the source beside the program."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.errors import ConfigError, StrandlineError

if TYPE_CHECKING:
    from bench.figures import Figure

app = typer.Typer(
    help="Measure how well and how fast memory finds, and how fast it takes in; needs the source.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def retrieval(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", help="Conversations with questions, in LoCoMo's own format.")],
    method: Annotated[
        list[str] | None, typer.Option("--method", help="A way to search; may be repeated. `default` is always first.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say how often the notes that answer a question are found, beside keywords, vectors and older mixtures of both.

    `rerank` and `rewrite` need a provider, which the home's configuration names; they are measured when asked for.
    """
    from gateway.config import read_config

    bench, aids = _from_source("retrieval"), _from_source("aids")
    methods = method or list(bench.METHODS)
    known = [*bench.METHODS, *bench.ASSISTED]
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ConfigError(f"--method {unknown[0]}: there is none; the methods are: {', '.join(known)}")
    invocation: Invocation = context.obj
    config = read_config(invocation.home(home).config_file)
    with aids.configured(config, invocation.environ, methods) as found:
        report = bench.run(data, methods, found)
    if as_json:
        print_json(report.as_json())
    else:
        print(report.as_text())


@app.command()
def search(
    entries: Annotated[int, typer.Option("--entries", min=14, help="How many lines to make up and search.")] = 5_000,
    searches: Annotated[int, typer.Option("--searches", min=10, help="How many searches in each of five runs.")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Say how long a search of made-up notes takes as a turn has it, the question's embedding included."""
    import asyncio

    _show(asyncio.run(_from_source("search").run(entries, searches)), as_json)


@app.command()
def index(
    entries: Annotated[int, typer.Option("--entries", min=0, help="Lines of 20 words to make up and index.")] = 1_000,
    passages: Annotated[int, typer.Option("--passages", min=0, help="Passages of 400 tokens, likewise.")] = 150,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often both sides take their turn.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Say how fast notes are indexed, from their files to being found, beside the bare embedding model."""
    import asyncio

    _show(asyncio.run(_from_source("index").run(entries, passages, rounds)), as_json)


def _show(figures: "Sequence[Figure]", as_json: bool) -> None:
    if as_json:
        print_json({figure.name: {"median": figure.value, "runs": list(figure.runs)} for figure in figures})
        return
    for figure in figures:
        print(figure.line())


def _from_source(name: str) -> ModuleType:
    """Return a module of the benchmarks, which lie beside the program in its source and nowhere else."""
    from importlib import import_module

    try:
        return import_module(f"bench.{name}")
    except ModuleNotFoundError as exc:
        if exc.name is not None and exc.name.partition(".")[0] == "bench":
            raise StrandlineError("the benchmarks come with the source: run `make bench` in a checkout") from exc
        raise
