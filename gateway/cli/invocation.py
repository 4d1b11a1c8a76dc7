"""The context of every command: the environment, the chosen home, and a way to compose a gateway."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
import typer
from msgspec import Struct, field

from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home

if TYPE_CHECKING:  # pydantic waits until a command reads the configuration
    from gateway.config import Config
    from gateway.control.operator_api import LocalApi, Readiness
    from gateway.observability.metrics import Meter
    from gateway.web.server import WebServer

DEFAULT_HOME = Path("~/.strandline")
HOME_VARIABLE = "STRANDLINE_HOME"


class Composed(Struct, frozen=True):
    """A gateway in this process."""

    operator: "LocalApi"
    readiness: "Readiness"
    run: Callable[[asyncio.Event], Coroutine[object, object, None]]
    """Runs until the event is set, then finishes the work begun."""
    meter: "Meter | None" = None
    """Metrics of the gateway, if enabled."""
    web: "WebServer | None" = None
    """The HTTP server, if enabled."""
    end_run: Callable[[], None] = lambda: None
    """Ends the present run like a stop, so that another one can begin."""


class Compose(Protocol):
    """Composes a gateway."""

    def __call__(
        self, home: Home, config: "Config", environ: Mapping[str, str], *, channels: bool
    ) -> AbstractAsyncContextManager[Composed]:
        """Open the gateway of *home*, whose lock the caller holds; without *channels* nothing is sent or received."""


class Invocation(Struct):
    """One start of the program."""

    environ: Mapping[str, str]
    compose: Compose
    program: str = "strandline"
    """The command that starts it again."""
    home_before: Path | None = None
    """`--home` in front of the command."""
    until_its_end: ExitStack = field(default_factory=ExitStack)
    """Resources that the program holds until it ends."""

    def prefer(self, home: Path | None) -> None:
        """Use *home*, named in front of the command, unless the command names another."""
        self.home_before = home

    def home(self, given: Path | None) -> Home:
        """Return the home to use: *given* after the command, before it, from the environment, or the default.

        Raises ConfigError for root where it is another user's: the files that root would leave there stop that user's
        gateway.
        """
        named = given or self.home_before or Path(self.environ.get(HOME_VARIABLE) or DEFAULT_HOME)
        home = Home(named.expanduser().absolute())
        if user := home.other_owner:
            raise ConfigError(
                f"{home.path} belongs to the user {user}, who could not use the files that root leaves in it; run the "
                f"command as that user: sudo -u '{user}' {self.program} …"
            )
        return home

    def existing_home(self, given: Path | None) -> Home:
        """Return the home to use, as `home` does. Raises StrandlineError if there is none."""
        home = self.home(given)
        self.refuse_absent(home)
        return home

    def refuse_absent(self, home: Home) -> None:
        """Raise StrandlineError, with the command that makes it, if there is no *home*."""
        if not home.exists:
            raise StrandlineError(f"there is no home at {home.path}; make one: {self.command('init', home)}")

    def environ_of(self, home: Home) -> Mapping[str, str]:
        """Return the environment with the secrets of *home*. Raises ConfigError."""
        from gateway.settings.secrets_file import with_secrets

        return with_secrets(self.environ, home.secrets_file)

    def guard(self, config: "Config", home: Home) -> None:
        """Redact the secrets that *config* of *home* names from all output, logs and files until the program ends."""
        from gateway.settings.secrets import known_secrets
        from gateway.settings.secrets_file import read_secrets
        from workspaces.secrets import guarding

        known = [*read_secrets(home.secrets_file).values(), *known_secrets(config, self.environ_of(home))]
        self.until_its_end.enter_context(guarding(known))

    def command(self, words: str, home: Home) -> str:
        """Return the command line that runs *words* on *home* in any terminal, whatever its environment."""
        is_default = home.path == DEFAULT_HOME.expanduser().absolute()
        return f"{self.program} {words}" + ("" if is_default else f" --home {home.path}")


def config_of(home: Home) -> "Config":
    """Read the configuration of *home*, for which pydantic loads. Raises ConfigError."""
    from gateway.config import read_config

    return read_config(home.config_file)


HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Folder of the gateway. Default: $STRANDLINE_HOME or ~/.strandline"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Name of the agent; default: the default agent.")]


def print_json(answer: Mapping[str, object]) -> None:
    """Print *answer* on one line of standard output, in ASCII where that has another encoding than UTF-8."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json.dumps(answer, ensure_ascii=not is_unicode, default=str))


def plain_fields(record: object) -> dict[str, object]:
    """Return the fields of *record* by name, as JSON can hold them; moments stay as they are."""
    fields: dict[str, object] = msgspec.to_builtins(record, builtin_types=(datetime,), enc_hook=str)
    return fields
