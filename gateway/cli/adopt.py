"""`strandline agents adopt`: makes this home's copy of an agent's files the authoritative one among several
gateways."""

import asyncio
import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation
from gateway.errors import ConfigError, StoreError, StrandlineError, WorkspaceLockedError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import RedisSettings


def adopt(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(help="Agent that no gateway runs.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the prompt.")] = False,
    home: HomeOption = None,
) -> None:
    """Among gateways on one Redis: let an agent use its files in this home and no other copy from now on."""
    from gateway.config import read_config

    invocation: Invocation = context.obj
    place = invocation.home(home)
    config = read_config(place.config_file)
    if agent not in config.agents:
        raise ConfigError(f"agents.{agent}: no such agent; the agents are: {', '.join(config.agents)}")
    if config.redis.url is None:
        raise StrandlineError("there is nothing to adopt: this home keeps its own state, so its files are the agent's")
    folder = place.agent(agent).root
    if not folder.is_dir():
        raise StrandlineError(f"there is no {folder}; put the agent's files there first")
    if not yes:
        question = f"Make {folder} the files of agent {agent}? Copies elsewhere are no longer used."
        typer.confirm(question, abort=True)
    asyncio.run(_adopt(invocation, place, agent, config.redis))
    print(f"Agent {agent} now uses {folder}; a gateway of this home takes it.")


async def _adopt(invocation: Invocation, home: Home, agent: str, settings: "RedisSettings") -> None:
    """Give the files a new unique name; if interrupted between store and folder, run it again."""
    from gateway.cluster.file_ownership import ClaimMark, write_mark
    from gateway.cluster.workspace_locks import agent_lock
    from gateway.stores.pins import Pin
    from gateway.stores.redis.leases import adopt as adopted
    from gateway.stores.redis.server import server_of

    fresh, server = Pin(secrets.token_hex(8), 1), server_of(settings, invocation.environ_of(home))
    try:
        with agent_lock(home, agent):
            if holder := await adopted(server, settings.prefix, agent, fresh):
                raise StrandlineError(f"agent {agent} has a gateway ({holder}); stop that one first")
            write_mark(home, agent, ClaimMark(fresh))
    except WorkspaceLockedError as exc:
        raise StrandlineError(f"a gateway works on the files of agent {agent}; stop that one first") from exc
    except OSError as exc:
        raise StoreError(f"{home.agent(agent).root} cannot be written: {exc.strerror}") from exc
