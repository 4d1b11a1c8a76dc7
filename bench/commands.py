"""`strandline bench …`: measurements of memory search and indexing."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench import aids
from bench import index as index_bench
from bench import retrieval as retrieval_bench
from bench import search as search_bench
from bench.figures import Figure, as_json
from gateway.cli.command_group import command_app
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.config import read_config
from gateway.errors import ConfigError

app = command_app("Measure memory search and indexing; needs the source.")


@app.command()
def retrieval(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Option("--data", help="Conversations with questions: a file of LoCoMo, a folder of REALTALK or BEAM."),
    ],
    method: Annotated[
        list[str] | None, typer.Option("--method", help="Search method; may be repeated. `default` always runs first.")
    ] = None,
    is_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Measure how often search finds the notes that answer a question, compared with keywords, vectors and both.

    `rerank` needs a provider, which the home's configuration names; it is measured only on request.
    """
    methods = method or list(retrieval_bench.METHODS)
    known = [*retrieval_bench.METHODS, *retrieval_bench.ASSISTED]
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ConfigError(f"--method {unknown[0]}: there is none; the methods are: {', '.join(known)}")
    invocation: Invocation = context.obj
    config = read_config(invocation.home(home).config_file)
    with aids.configured(config, invocation.environ, methods) as found:
        report = retrieval_bench.run(data, methods, found)
    if is_json:
        print_json(report.as_json())
    else:
        print(report.as_text())


@app.command()
def search(
    entries: Annotated[int, typer.Option("--entries", min=14, help="Number of generated lines to search.")] = 5_000,
    searches: Annotated[int, typer.Option("--searches", min=10, help="Number of searches in each of five runs.")] = 200,
    is_json: JsonOption = False,
) -> None:
    """Measure the search latency on generated notes as a turn sees it, including the question's embedding."""
    _show(asyncio.run(search_bench.run(entries, searches)), is_json)


@app.command()
def index(
    entries: Annotated[
        int, typer.Option("--entries", min=0, help="Number of generated lines of 20 words to index.")
    ] = 1_000,
    passages: Annotated[
        int, typer.Option("--passages", min=0, help="Number of generated passages of 400 tokens to index.")
    ] = 150,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Number of rounds for both sides.")] = 3,
    is_json: JsonOption = False,
) -> None:
    """Measure indexing speed, from files to searchable notes, compared with the embedding model alone."""
    _show(asyncio.run(index_bench.run(entries, passages, rounds)), is_json)


def _show(figures: Sequence[Figure], is_json: bool) -> None:
    if is_json:
        print_json(as_json(figures))
        return
    for figure in figures:
        print(figure.line())
