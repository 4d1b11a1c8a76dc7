"""`strandline chat`: a conversation at the prompt, or one message and its answer."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO

import typer
from anyio.from_thread import BlockingPortal

from gateway.cli.call import JsonCall
from gateway.cli.connect import Reached, reach
from gateway.cli.invocation import AgentOption, Invocation, print_json
from gateway.cli.redacted_output import styled_output
from gateway.cli.scaffold import prepare_home, zone_of
from gateway.control.expected_errors import EXPECTED
from gateway.control.stream_wire import ChatOrder, ChatSign, CommandsOrder
from gateway.control.wire import WhyOrder
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home
from gateway.runtime.clock import SystemClock, pause
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.cli.prompt import ChatPrompt

EXIT = {"/exit", "/quit"}
SOURCES_SHOWN = 3
"""Our choice: one line; `/why` and `strandline memory why` list all."""

_LISTENS_AGAIN_S = 2.0
"""Pause after the gateway began anew, as with changed settings; our choice."""


def chat(
    call: JsonCall,
    message: Annotated[
        str | None, typer.Option("--message", "-m", help="Send this message, print the answer and exit.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Stop waiting after this time.")
    ] = None,
    agent: AgentOption = None,
) -> None:
    """Talk to an agent, with or without a running gateway."""
    invocation, place = call.invocation, call.home
    if call.as_json and message is None:
        raise ConfigError("--json needs --message: an interactive chat has no JSON output")
    if not place.exists:
        with prepare_home(place, zone_of(invocation.environ), "strandline chat"):
            pass
    if message is None:
        _converse(invocation, place, agent, timeout)
    else:
        asyncio.run(_say_once(invocation, place, ChatOrder(message, agent), call.as_json, timeout))


async def _say_once(
    invocation: Invocation, home: Home, order: ChatOrder, as_json: bool, timeout_s: float | None
) -> None:
    """Print the answer; raise StrandlineError when the message must wait, or there is none in time."""
    replies: list[str] = []
    reasons: list[str] = []
    shown: list[str] = []

    async def on_reply(text: str, is_answer: bool) -> None:
        shown.append(text)
        if text in reasons:
            return
        if is_answer:
            replies.append(text)
        if not (as_json and is_answer):
            reasons.extend(_print(text if is_answer else f"(earlier) {text}", sys.stdout if is_answer else sys.stderr))

    def on_sign(sign: ChatSign) -> None:
        if sign.kind == "postponed":
            reasons.append(sign.text)

    answered = order.agent
    async with reach(invocation, home, "strandline chat", answers=True) as reached:
        try:
            async with asyncio.timeout(timeout_s):
                answered = await reached.operator.chat(order, on_reply, on_sign)
        except TimeoutError:
            reasons.append(_late(timeout_s))
    _note_silence([*shown, *reasons], "strandline route why")
    error = {"error": reasons[-1]} if reasons else {}
    if as_json:
        print_json({"agent": answered, "message": order.text, "reply": "\n".join(replies), **error})
    if reasons:
        raise typer.Exit(1) if as_json else StrandlineError(reasons[-1])


def _note_silence(shown: Sequence[str], command: str) -> None:
    """Say on standard error that nothing was *shown*; *command* names the reason, such as a budget that is spent."""
    if not any(shown):
        print(f"(no answer to this; {command} names the reason if there is one)", file=sys.stderr)


def _late(timeout_s: float | None) -> str:
    return f"no answer within {timeout_s:g} seconds; your message is kept, and the answer comes with the next chat"


# --- interactive prompt


def _converse(invocation: Invocation, home: Home, agent: str | None, timeout_s: float | None) -> None:
    """Read lines here, in the main thread, where Ctrl-C and the line editor work; the operator runs in another."""
    from anyio.from_thread import start_blocking_portal

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(reach(invocation, home, "strandline chat", answers=True)) as reached,
    ):
        for text in _lines(portal, reached, home, agent):
            try:
                _answer(portal, reached, ChatOrder(text, agent), timeout_s)
            except EXPECTED as exc:
                print(f"strandline: {exc}", file=sys.stderr)


def _answer(portal: BlockingPortal, reached: Reached, order: ChatOrder, timeout_s: float | None) -> None:
    """Show the answer to *order*; Ctrl-C stops it."""
    answer = portal.start_task_soon(_say, reached, order, timeout_s)
    try:
        answer.result()
    except KeyboardInterrupt:
        answer.cancel()
        portal.call(_say, reached, ChatOrder("/stop", order.agent), timeout_s)


async def _say(reached: Reached, order: ChatOrder, timeout_s: float | None) -> None:
    from rich.console import Console
    from rich.text import Text

    from gateway.cli.live_answer import LiveAnswer

    console, shown = Console(file=styled_output()), list[str]()
    with LiveAnswer(console) as answer:

        async def on_reply(text: str, is_answer: bool) -> None:
            shown.append(text)
            answer.reply(text, is_answer=is_answer)

        try:
            async with asyncio.timeout(timeout_s):
                await reached.operator.chat(order, on_reply, answer.sign)
        except TimeoutError as exc:
            raise StrandlineError(_late(timeout_s)) from exc
    _note_silence([*shown, answer.reason], "/why silence")
    if not answer.reason and console.is_terminal and (sources := await _sources(reached, order)):
        console.print(Text(sources, style="dim"))


async def _sources(reached: Reached, order: ChatOrder) -> str:
    """Return the memories that the answer had in view, as one line; nothing for a command."""
    if order.text.startswith("/"):
        return ""
    why = await reached.operator.ask(WhyOrder(order.agent))
    citations = list(dict.fromkeys(hit.citation for hit in why.used)) if why.question == order.text else []
    more = len(citations) - SOURCES_SHOWN
    named = " · ".join(citations[:SOURCES_SHOWN]) + (f" and {more} more: /why" if more > 0 else "")
    return named and f"Sources: {named}"


def _lines(portal: BlockingPortal, reached: Reached, home: Home, agent: str | None) -> Iterator[str]:
    """Yield each message at the prompt, until the end of the input."""
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    for text in _typed_lines(portal, reached, home, agent) if at_terminal else sys.stdin:
        if text.strip() in EXIT:
            return
        if text.strip():
            yield text.strip()


def _typed_lines(portal: BlockingPortal, reached: Reached, home: Home, agent: str | None) -> Iterator[str]:
    from gateway.cli.prompt import ChatPrompt

    prompt = ChatPrompt(home.chat_history, portal.call(reached.operator.ask, CommandsOrder()).entries)
    print("/help: commands · Alt-Enter: new line · Ctrl-C: stop the answer · Ctrl-D leaves.\n")
    lines = iter(prompt)
    while True:
        hearing = portal.start_task_soon(_hear, reached, agent, prompt)
        try:
            text = next(lines, None)
        finally:
            hearing.cancel()
        if text is None:
            return
        yield text
        print()  # between an answer and the next prompt


async def _hear(reached: Reached, agent: str | None, prompt: "ChatPrompt") -> NoReturn:
    """Show the agent's unprompted messages, such as a reminder, while one is being typed."""
    from rich.console import Console

    from gateway.cli.markdown import TerminalMarkdown

    async def on_reply(text: str, _: bool) -> None:
        prompt.show(lambda: Console(file=styled_output()).print(TerminalMarkdown(visible(text))))

    while True:
        with suppress(*EXPECTED):  # a gateway that is away: the next message says so
            await reached.operator.chat(ChatOrder("", agent, listens=True), on_reply)
        await pause(SystemClock(), _LISTENS_AGAIN_S)


def _print(text: str, target: TextIO) -> list[str]:
    """Print *text* to *target*, and return why it cannot be, if so: the turn ends as it would have.

    A reader that is gone, as in `| head`, is no reason.
    """
    try:
        print(text, file=target, flush=True)
    except BrokenPipeError:
        pass
    except StrandlineError as exc:
        return [str(exc)]
    return []
