"""`strandline chat`: a conversation at the prompt, or one message and its answer."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.connect import Reached, reach
from gateway.cli.invocation import AgentOption, HomeOption, Invocation, JsonOption, print_json
from gateway.cli.redacted_output import styled_output
from gateway.cli.scaffold import prepare_home, wishes_of
from gateway.control.operator_api import EXPECTED
from gateway.control.wire import ChatOrder
from gateway.errors import ConfigError
from gateway.home import FILE_MODE, Home
from gateway.runtime.escape import visible

EXIT = {"/exit", "/quit"}


def chat(
    context: typer.Context,
    message: Annotated[
        str | None, typer.Option("--message", "-m", help="Send this message, print the answer and exit.")
    ] = None,
    as_json: JsonOption = False,
    agent: AgentOption = None,
    home: HomeOption = None,
) -> None:
    """Talk to an agent, with or without a running gateway."""
    invocation: Invocation = context.obj
    place = invocation.home(home)
    if as_json and message is None:
        raise ConfigError("--json needs --message: an interactive chat has no JSON output")
    if not place.exists:
        with prepare_home(place, wishes_of(invocation.environ), "strandline chat"):
            pass
    if message is None:
        _converse(invocation, place, agent)
    else:
        asyncio.run(_say_once(invocation, place, ChatOrder(message, agent), as_json))


async def _say_once(invocation: Invocation, home: Home, order: ChatOrder, as_json: bool) -> None:
    replies: list[str] = []

    async def on_reply(text: str, is_answer: bool) -> None:
        if is_answer:
            replies.append(text)
        if not (as_json and is_answer):
            print(text if is_answer else f"(earlier) {text}", file=sys.stdout if is_answer else sys.stderr, flush=True)

    async with reach(invocation, home, "strandline chat", answers=True) as reached:
        agent = await reached.operator.chat(order, on_reply)
    if as_json:
        print_json({"agent": agent, "message": order.text, "reply": "\n".join(replies)})


# --- interactive prompt


def _converse(invocation: Invocation, home: Home, agent: str | None) -> None:
    """Read lines here, in the main thread, where Ctrl-C and the line editor work; the operator runs in another."""
    from anyio.from_thread import start_blocking_portal

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(reach(invocation, home, "strandline chat", answers=True)) as reached,
        _line_history(home.chat_history),
    ):
        print("Type /exit or press Ctrl-D to leave.")
        for text in _lines():
            try:
                portal.call(_say, reached, ChatOrder(text, agent))
            except EXPECTED as exc:
                print(f"strandline: {exc}", file=sys.stderr)


async def _say(reached: Reached, order: ChatOrder) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=styled_output())

    async def on_reply(text: str, is_answer: bool) -> None:
        shown = visible(text)
        console.print(Markdown(shown if is_answer else f"*(earlier)*\n\n{shown}"))

    await reached.operator.chat(order, on_reply)


def _lines() -> Iterator[str]:
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            print()
            return
        if text in EXIT:
            return
        if text:
            yield text


@contextmanager
def _line_history(file: Path) -> Iterator[None]:
    """Enable line editing and history at the prompt, where Python supports it."""
    try:
        import readline
    except ImportError:
        yield
        return
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY, FILE_MODE))
    readline.read_history_file(file)
    readline.set_history_length(1_000)
    try:
        yield
    finally:
        readline.write_history_file(file)
