"""`strandline init`: asks few questions, and writes the configuration and the first workspace."""

import sys
from typing import Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation
from gateway.cli.scaffold import PROVIDERS, Wishes, prepare_home, wishes_of


def init(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Use the defaults without a prompt.")] = False,
    home: HomeOption = None,
) -> None:
    """Create a home: config.toml and the workspace of agent main. Safe to repeat."""
    invocation: Invocation = context.obj
    place = invocation.home(home)
    wishes = wishes_of(invocation.environ)
    if not yes and not place.config_file.exists():
        wishes = _ask_wishes(wishes)
    with prepare_home(place, wishes, "strandline init") as (config, is_new):
        print(f"{'Wrote' if is_new else 'Kept'} {place.config_file}")
        for agent, settings in config.agents.items():
            print(f"Agent {agent}: {settings.workspace or place.agent(agent).workspace}")
    print(f"Start it: {invocation.command('up', place)}")


def _ask_wishes(wishes: Wishes) -> Wishes:
    from gateway.settings.zone import load_zone

    zone = typer.prompt("Your time zone", default=wishes.time_zone)
    while load_zone(zone) is None:
        zone = typer.prompt(f"{zone} is not a time zone; an example is Europe/Berlin", default=wishes.time_zone)
    telegram = typer.prompt("Your numeric Telegram id (empty: no Telegram)", default="", show_default=False)
    while telegram and not telegram.isdecimal():
        telegram = typer.prompt("Digits only, such as 12345 (empty: no Telegram)", default="", show_default=False)
    choices = ", ".join(PROVIDERS)
    provider = typer.prompt(f"Language model, one of {choices}", default=PROVIDERS[0])
    while provider not in PROVIDERS:
        provider = typer.prompt(f"One of {choices}", default=PROVIDERS[0])
    if telegram or provider != "offline":
        print("Keys and tokens stay in environment variables; config.toml names them.", file=sys.stderr)
    return Wishes(zone, telegram, provider)
