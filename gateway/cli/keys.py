"""`strandline keys …`: the home's own keys and tokens, which are never shown."""

import shutil
import sys
from collections.abc import Callable, Sequence
from getpass import getpass
from typing import Annotated

import typer

from gateway.cli.call import Call
from gateway.cli.command_group import command_app
from gateway.cli.redacted_output import styled_output
from gateway.cli.settings_report import print_taken_up
from gateway.errors import ConfigError
from gateway.home import Home

app = command_app("Manage keys and tokens: set, list, remove.")

KeyName = Annotated[str, typer.Argument(help="Name that the configuration uses, such as CO_API_KEY.")]


@app.command(name="set")
def set_(call: Call, name: KeyName) -> None:
    """Store a key, pasted at a prompt that shows nothing, or read from standard input."""
    from gateway.config.changes import set_secret
    from gateway.settings.key_kinds import key_kind

    if key_kind(name):
        raise ConfigError("that is a key, not its name: your shell's history has it now, so replace it by a new one")
    place = call.home
    set_secret(place, name, ask_secret(f"{name} (not shown)"))
    print(f"Stored {name} in {place.secrets_file}, which only you can read.")
    print_taken_up(call.invocation, place)


@app.command(name="list")
def list_(call: Call) -> None:
    """List the names of the stored keys."""
    for name in _names(call.home) or ["No keys are stored."]:
        print(name)


@app.command()
def remove(call: Call, name: KeyName) -> None:
    """Remove a key."""
    from gateway.config.changes import remove_secret
    from gateway.config.reading import nearest

    place = call.home
    if not remove_secret(place, name):
        raise ConfigError(f"{name} is not stored; {nearest(name, _names(place))}")
    print(f"Removed {name}.")
    print_taken_up(call.invocation, place)


def ask_secret(prompt: str) -> str:
    """Return a secret: typed without an echo at a terminal, else the next line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return getpass(f"{prompt}: ").strip()  # it ends the echo before it prompts: a quick paste is not shown


def ask(question: str, default: str = "", refusal: Callable[[str], str] = lambda _: "") -> str:
    """Return what is typed in full view. A key is taken off the screen, and not used.

    *refusal* returns the next question for an answer that cannot be used, else an empty text.
    """
    from gateway.settings.key_kinds import key_kind

    while True:
        try:
            answer: str = typer.prompt(question, default=default, show_default=bool(default))
        except typer.Abort as exc:
            if sys.stdin.isatty():  # Ctrl-C
                raise
            raise ConfigError(
                f"nobody answers {question!r} here: run it at a terminal, or give the answers as options (--help)"
            ) from exc
        if kind := key_kind(answer):
            rows = 1 + len(f"{question} [{default}]: {answer}") // shutil.get_terminal_size().columns
            print(f"\x1b[{rows}A\x1b[J" if sys.stdout.isatty() else "", end="", file=styled_output())
            print(f"That is a key ({kind}), which has a prompt of its own that shows nothing: it was not used.")
        elif not (again := refusal(answer)):
            return answer
        else:
            question = again


def ask_one_of(choices: Sequence[str], what: str, default: str) -> str:
    """Return one of *choices*; *what* they are."""
    known = ", ".join(choices)
    return ask(f"{what}, one of {known}", default, lambda answer: "" if answer in choices else f"One of {known}")


def _names(home: Home) -> list[str]:
    from gateway.settings.secrets_file import read_secrets

    return sorted(read_secrets(home.secrets_file))
