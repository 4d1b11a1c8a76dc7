"""Prepares a home for its first start: a commented configuration and a workspace for each agent."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from gateway.cli.invocation import config_of
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config


class UsualModel(Struct, frozen=True):
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


@contextmanager
def prepare_home(home: Home, time_zone: str, purpose: str) -> "Iterator[tuple[Config, bool]]":
    """Own *home* while the block runs; create missing files there, for an owner in *time_zone*, and change no others.

    Yields the settings, and whether they are new. *purpose* describes the use of the home to other processes. Raises
    ConfigError, HomeLockedError and WorkspaceLockedError before any write, and WorkspaceError.
    """
    from gateway.app.ownership import own

    with own(home, purpose, create=True) as config:
        is_new = not home.config_file.exists()
        if is_new:
            home.write(home.config_file, starter_config(time_zone))
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


def zone_of(environ: Mapping[str, str]) -> str:
    """Return the time zone for an owner who named none."""
    from gateway.config import owner_zone

    return owner_zone(None, environ).name


def starter_config(time_zone: str) -> str:
    """Return a configuration for an owner in *time_zone* that shows further options in comments."""
    models = "\n".join(
        _MODEL.format(provider=each.provider, model=each.model, variable=each.variable) for each in MODELS
    )
    return f"""\
# Strandline's settings. `strandline docs settings` explains every key; the next start reports invalid ones.

[owner]
time_zone = "{time_zone}"          # decides which day a note belongs to
# people = ["telegram:12345"]   # your ids; `strandline connect` adds them

[agents.main]
# model = "cohere"   # a name under [models]; without one the offline responder answers

{models}
# [channels.telegram.home]
# token_env = "TELEGRAM_TOKEN"   # the variable that holds the token from @BotFather
# groups = {{ "-1001234567890" = {{ mention = true }} }}   # groups in which it may answer

# [web]
# enabled = true   # a page for you, on this machine; `strandline web login` lets your browser in
"""


_MODEL = """\
# [models.{provider}]
# provider = "{provider}"
# model = "{model}"
# api_key_env = "{variable}"   # the variable that holds the key, never the key itself
"""
