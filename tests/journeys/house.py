"""A home on loopback servers, with its gateway in this process."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.app.app import App
from gateway.app.resources import THIS_MACHINE, Machine
from gateway.config import read_config
from gateway.home import Home
from tests.fakes.botapi import TOKEN
from workspaces.access import AgentId
from workspaces.workspace import Workspace

OWNER = 7
GROUP = -100
ENVIRON = {"BOT_TOKEN": TOKEN, "MODEL_KEY": "a-key-for-tests"}


def make_home(path: Path, bot_url: str = "", model: str = "") -> Home:
    """Write the configuration of a home with one agent; with a Telegram account if *bot_url* is given.

    *model* is the text of its `[models.stub]` section; without one the offline responder answers.
    """
    home = Home(path)
    home.create()
    agent = '[agents.main]\nmodel = "stub"\n' if model else "[agents.main]\n"
    sections = [f'[owner]\ntime_zone = "Europe/Berlin"\npeople = ["telegram:{OWNER}"]\n', agent]
    if bot_url:
        sections.append(
            f'[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{bot_url}"\npoll_timeout_s = 5\n'
            f'groups = {{ "{GROUP}" = {{ mention = true }} }}\n'
        )
    if model:
        sections.append(f"[models.stub]\n{model}\n")
    home.write(home.config_file, "\n".join(sections))
    Workspace.create(home.agent("main").workspace, AgentId("main")).folder.close()
    return home


def openai_section(url: str) -> str:
    """Return what a model behind an OpenAI-compatible address is configured by."""
    return f'provider = "openai"\nmodel = "stub-1"\nbase_url = "{url}"\napi_key_env = "MODEL_KEY"'


def cohere_section(url: str) -> str:
    """Return what a Cohere model at another address is configured by."""
    return f'provider = "cohere"\nmodel = "command-a-03-2025"\nbase_url = "{url}"\napi_key_env = "MODEL_KEY"'


def anthropic_section(url: str) -> str:
    """Return what a model of Anthropic's at another address is configured by."""
    return f'provider = "anthropic"\nmodel = "claude-sonnet-5"\nbase_url = "{url}"\napi_key_env = "MODEL_KEY"'


def google_section(url: str) -> str:
    """Return what a model of Google's at another address is configured by."""
    return f'provider = "google"\nmodel = "stub"\nbase_url = "{url}"\napi_key_env = "MODEL_KEY"'


@asynccontextmanager
async def running(
    home: Home, secrets: Mapping[str, str] | None = None, machine: Machine = THIS_MACHINE
) -> AsyncIterator[App]:
    """Run the gateway of *home* while the block runs, and let it finish what it began; *secrets* join its own."""
    environ = ENVIRON | dict(secrets or {})
    stop = asyncio.Event()
    with home.lock("a journey"):
        async with (
            App.open(home, read_config(home.config_file), environ, channels=True, machine=machine) as app,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(app.run(stop))
            try:
                yield app
            finally:
                stop.set()
