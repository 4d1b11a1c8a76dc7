"""This file holds what every command is given: the environment, the chosen home, and a way to compose a gateway."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from gateway.control.operator_api import Desk, Readiness
from gateway.home import Home

if TYPE_CHECKING:  # pydantic waits until a command reads the configuration
    from gateway.config import Config
    from gateway.observability.metrics import Meter
    from gateway.web.server import WebDoor

DEFAULT_HOME = Path("~/.strandline")
HOME_VARIABLE = "STRANDLINE_HOME"


@dataclass(frozen=True, slots=True)
class Composed:
    """A gateway in this process."""

    desk: Desk
    readiness: Readiness
    run: Callable[[asyncio.Event], Coroutine[object, object, None]]
    """Works until the event is set, and then finishes what was begun."""
    meter: "Meter | None" = None
    """Has counted what it did, where that is wanted."""
    web: "WebDoor | None" = None
    """The HTTP door, where it is to be open."""


class Compose(Protocol):
    """Puts a gateway together."""

    def __call__(
        self, home: Home, config: "Config", environ: Mapping[str, str], *, channels: bool
    ) -> AbstractAsyncContextManager[Composed]:
        """Open the gateway of *home*, whose lock the caller holds; without *channels* nothing is sent or received."""


@dataclass(slots=True)
class Invocation:
    """One start of the program."""

    environ: Mapping[str, str]
    compose: Compose
    program: str = "strandline"
    """What to type to start it again."""
    home_before: Path | None = None
    """`--home` in front of the command."""
    until_its_end: ExitStack = field(default_factory=ExitStack)
    """What the program keeps up until it ends."""

    def home(self, given: Path | None) -> Home:
        """Return the home to work on: *given* after the command, before it, by the environment, the default."""
        named = given or self.home_before or Path(self.environ.get(HOME_VARIABLE) or DEFAULT_HOME)
        return Home(named.expanduser().absolute())

    def guard(self, config: "Config") -> None:
        """Take the secrets that *config* names out of all that is printed, logged or written until the program ends."""
        from gateway.config.secrets import known_secrets
        from workspaces.secrets import guarding

        self.until_its_end.enter_context(guarding(known_secrets(config, self.environ)))

    def command(self, words: str, home: Home) -> str:
        """Return the line that starts *words* on *home* in any terminal, whatever that one's environment."""
        is_default = home.path == DEFAULT_HOME.expanduser().absolute()
        return f"{self.program} {words}" + ("" if is_default else f" --home {home.path}")


HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The gateway's folder. Default: $STRANDLINE_HOME or ~/.strandline"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Which agent; the default one if not given.")]


def print_json(answer: Mapping[str, object]) -> None:
    """Print *answer* on one line of standard output."""
    print(json.dumps(answer, ensure_ascii=False, default=str))
