"""This file is `strandline bench …`: the project's own measurements, for whoever has the source beside the program."""

from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from gateway.cli.invocation import JsonOption, print_json
from gateway.errors import ConfigError, StrandlineError

app = typer.Typer(
    help="Measure retrieval quality and search speed; needs the source.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def retrieval(
    data: Annotated[Path, typer.Option("--data", help="Conversations with questions, in LoCoMo's own format.")],
    method: Annotated[list[str] | None, typer.Option("--method", help="May be repeated. All if not given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how often the evidence of a question is found, beside keywords, vectors and older mixtures of both."""
    bench = _from_source("retrieval")
    methods = method or list(bench.METHODS)
    unknown = [name for name in methods if name not in bench.METHODS]
    if unknown:
        raise ConfigError(f"--method {unknown[0]}: there is none; the methods are: {', '.join(bench.METHODS)}")
    report = bench.run(data, methods)
    if as_json:
        print_json(report.as_json())
    else:
        print(report.as_text())


@app.command()
def search(
    entries: Annotated[int, typer.Option("--entries", min=14, help="How many entries to make up and search.")] = 5_000,
    searches: Annotated[int, typer.Option("--searches", min=10, help="How many, in each of five runs.")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Say how fast memory is indexed and searched as a turn has it, through the worker's pipe."""
    import asyncio

    figures = asyncio.run(_from_source("search").run(entries, searches))
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
