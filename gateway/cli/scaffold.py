"""Prepares a home for its first start: a commented configuration and a workspace for each agent."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.cli.invocation import config_of
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config


@dataclass(frozen=True, slots=True)
class UsualModel:
    """A provider, one of its models, and the environment variable from which its own client reads a key."""

    provider: str
    model: str
    variable: str


MODELS = (
    UsualModel("cohere", "command-a-03-2025", "CO_API_KEY"),
    UsualModel("openai", "gpt-5-mini", "OPENAI_API_KEY"),
    UsualModel("anthropic", "claude-sonnet-5", "ANTHROPIC_API_KEY"),
    UsualModel("google", "gemini-3.8-flash", "GEMINI_API_KEY"),
)
PROVIDERS = ("offline", *(each.provider for each in MODELS))


@dataclass(frozen=True, slots=True)
class Wishes:
    """The answers given to `init`; the defaults need no account."""

    time_zone: str
    telegram_id: str = ""
    """The owner's numeric id; empty: no Telegram."""
    provider: str = "offline"


@contextmanager
def prepare_home(home: Home, wishes: Wishes, purpose: str) -> "Iterator[tuple[Config, bool]]":
    """Own *home* while the block runs; create missing files there and change no existing ones.

    Yields the settings, and whether they are new. *purpose* describes the use of the home to other processes. Raises
    ConfigError, HomeLockedError and WorkspaceLockedError before any write, and WorkspaceError.
    """
    from gateway.app.ownership import own

    with own(home, purpose, create=True) as config:
        is_new = not home.config_file.exists()
        if is_new:
            home.write(home.config_file, starter_config(wishes))
            config = config_of(home)
        _make_workspaces(home, config)
        yield config, is_new


def _make_workspaces(home: Home, config: "Config") -> None:
    """Create missing files in each agent's workspace; among several gateways, where none runs the agent."""
    from gateway.cluster.workspace_locks import workspace_locks, workspaces_of
    from gateway.errors import WorkspaceLockedError
    from workspaces.access import AgentId
    from workspaces.starting_files import is_complete
    from workspaces.workspace import Workspace

    is_shared = config.redis.url is not None
    for agent, folder in workspaces_of(home, config).items():
        if is_complete(folder):
            continue
        locks = workspace_locks(home, {agent: folder}, create=True) if is_shared else nullcontext()
        with suppress(WorkspaceLockedError), locks:
            Workspace.create(folder, AgentId(agent)).folder.close()


def wishes_of(environ: Mapping[str, str]) -> Wishes:
    """Return the answers for an unattended `init`."""
    from gateway.config import owner_zone

    return Wishes(owner_zone(None, environ).name)


def starter_config(wishes: Wishes) -> str:
    """Return a configuration that implements *wishes* and shows further options in comments."""
    return "\n".join(_lines(wishes)) + "\n"


def _lines(wishes: Wishes) -> Iterator[str]:
    has_telegram = bool(wishes.telegram_id)
    yield "# Strandline's settings. `strandline docs settings` explains every key; the next start reports invalid ones."
    yield "\n[owner]"
    yield f'time_zone = "{wishes.time_zone}"          # decides which day a note belongs to'
    yield _line(
        has_telegram,
        f'people = ["telegram:{wishes.telegram_id or 12345}"]',
        "your ids; `strandline connect` adds them",
    )
    yield "\n[agents.main]"
    yield _line(
        wishes.provider != "offline",
        f'model = "{wishes.provider if wishes.provider != "offline" else "cohere"}"',
        "a name under [models]; without one the offline responder answers",
    )
    for each in MODELS:
        is_wanted = wishes.provider == each.provider
        yield ""
        yield _line(is_wanted, f"[models.{each.provider}]")
        yield _line(is_wanted, f'provider = "{each.provider}"')
        yield _line(is_wanted, f'model = "{each.model}"')
        yield _line(
            is_wanted, f'api_key_env = "{each.variable}"', "the variable that holds the key, never the key itself"
        )
    yield ""
    yield _line(has_telegram, "[channels.telegram.home]")
    yield _line(has_telegram, 'token_env = "TELEGRAM_TOKEN"', "the variable that holds the token from @BotFather")
    yield _line(False, 'groups = { "-1001234567890" = { mention = true } }', "groups in which it may answer")
    yield ""
    yield _line(False, "[web]")
    yield _line(False, "enabled = true", "a page for you, on this machine; `strandline web login` lets your browser in")


def _line(is_active: bool, text: str, comment: str = "") -> str:
    return ("" if is_active else "# ") + (f"{text}   # {comment}" if comment else text)
