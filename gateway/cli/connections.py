"""`strandline connect …`: connects a bot, a model or a tool server, checked before anything is written."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from gateway.cli.call import Call
from gateway.cli.command_group import command_app
from gateway.cli.connect import reach
from gateway.cli.invocation import Invocation, config_of
from gateway.cli.keys import ask_secret
from gateway.cli.model_setup import ModelWish, connect_model
from gateway.cli.settings_report import print_taken_up
from gateway.control.admission_wire import ClaimOrder
from gateway.control.finding import Level
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.channels.identity import BotIdentity, PersonIdentity
    from gateway.config import Config

app = command_app("Connect chat platforms, models and tools: telegram, discord, model, mcp, claim.")

MESSAGE_WITHIN_S = 300.0
"""How long a first message is waited for; our choice."""
_ADDRESSES = {"telegram": "https://api.telegram.org", "discord": "https://discord.com/api/v10"}

AccountOption = Annotated[str, typer.Option("--account", help="Name of the bot in the configuration.")]
BaseUrlOption = Annotated[str | None, typer.Option("--base-url", help="Another address of the platform's API.")]
OwnerOption = Annotated[str | None, typer.Option("--owner", help="Your numeric id there; default: ask.")]
ClaimOption = Annotated[bool, typer.Option("--claim", help="Ask nothing; who sends the code becomes the owner.")]


@app.command()
def telegram(
    call: Call,
    account: AccountOption = "home",
    owner: OwnerOption = None,
    claim: ClaimOption = False,
    base_url: BaseUrlOption = None,
) -> None:
    """Connect a Telegram bot: paste the token from @BotFather, write to the bot, confirm that it is you."""
    print("Telegram: write /newbot to @BotFather (https://t.me/BotFather) and copy the token that it answers with.")
    connect_bot(call.invocation, call.home, BotWish("telegram", account, base_url, owner, claim))


@app.command()
def discord(
    call: Call,
    account: AccountOption = "home",
    owner: OwnerOption = None,
    claim: ClaimOption = False,
    base_url: BaseUrlOption = None,
) -> None:
    """Connect a Discord bot: paste its token from the Developer Portal, confirm that it is yours."""
    print("Discord: in https://discord.com/developers/applications make a New Application; under Bot, turn on")
    print("MESSAGE CONTENT INTENT and save, then choose Reset Token and copy the token.")
    connect_bot(call.invocation, call.home, BotWish("discord", account, base_url, owner, claim))


@app.command()
def model(
    call: Call,
    provider: Annotated[str | None, typer.Option(help="cohere, openai, anthropic or google; default: ask.")] = None,
    model: Annotated[str | None, typer.Option(help="Its name at the provider; default: a usual one, or ask.")] = None,
    name: Annotated[str | None, typer.Option(help="Its name in the configuration; default: the provider's.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Another address, such as Ollama's.")] = None,
    agent: Annotated[
        str | None, typer.Option(help="Agent that uses it from now on; default: the default agent.")
    ] = None,
) -> None:
    """Connect a language model: paste its key; one small call proves that it works before anything is written."""
    connect_model(call.invocation, call.home, ModelWish(provider, model, name, base_url, agent))


@app.command()
def mcp(
    call: Call,
    name: Annotated[str, typer.Argument(help="Its name, which begins those of its tools.")],
    command: Annotated[list[str] | None, typer.Argument(help="The program and its arguments, after --.")] = None,
    url: Annotated[str | None, typer.Option(help="Its address, instead of a program.")] = None,
    token: Annotated[bool, typer.Option("--token", help="It needs a token; paste it.")] = False,
) -> None:
    """Connect a tool server: its tools are asked for before anything is written."""
    place = call.home
    if not (url or command):
        raise ConfigError(
            f"name a program after --, or its address: strandline connect mcp {name} -- uvx mcp-server-time"
        )
    table: dict[str, object] = {"url": url} if url else {"command": list(command or ())}
    secret = f"MCP_{name.upper().replace('-', '_')}_TOKEN"
    environ = dict(call.invocation.environ_of(place))
    if token:
        environ[secret] = ask_secret("Token (not shown)")
        table["token_env"] = secret
    for line in connect_tools(place, name, table, environ, secret if token else ""):
        print(visible(line))
    print_taken_up(call.invocation, place)


def connect_tools(
    home: Home, name: str, table: Mapping[str, object], environ: Mapping[str, str], secret: str
) -> list[str]:
    """Try the tool server of *table*, and write it, with its *secret* if it has one; return what was found.

    Raises StrandlineError if it has no tools.
    """
    from gateway.cli.doctor.tool_servers import try_server
    from gateway.config.changes import config_with, set_secret, set_values

    values: dict[tuple[str, ...], object] = {("mcp", name, key): value for key, value in table.items()}
    found = asyncio.run(try_server(name, config_with(home, values), environ, home))
    if found.level is not Level.OK:
        raise StrandlineError(f"{found.detail}; {found.mend}; nothing was written")
    if secret:
        set_secret(home, secret, environ[secret])
    set_values(home, values)
    return [f"{name} has {found.detail}", f"Wrote [mcp.{name}] in {home.config_file}."]


@app.command()
def claim(call: Call) -> None:
    """Show new codes for bots without an owner: sending one to its bot within 15 minutes makes the sender its owner."""
    asyncio.run(_show_codes(call.invocation, call.home))


async def _show_codes(invocation: Invocation, home: Home, account: str | None = None) -> None:
    """Print a new code for *account*, or for each without an owner, with a link that sends it."""
    if account is not None and home.control() is None:
        print(f"Start the gateway, then show its code: {invocation.command('connect claim', home)}")
        return
    async with reach(invocation, home, "strandline connect claim") as reached:
        rows = (await reached.operator.ask(ClaimOrder(account))).accounts
    config, environ = config_of(home), invocation.environ_of(home)
    for row in rows:
        print(f"{row.account}: send it the code {row.code}")
        if link := await _start_link(config, environ, row.account):
            print(f"  or open {link}{row.code}")
    if not rows:
        print("Every bot has its owner.")


async def _start_link(config: "Config", environ: Mapping[str, str], account: str) -> str:
    """Return the address that sends the bot a code put at its end; empty where there is none."""
    channel, _, name = account.partition(".")
    bot = config.channels.root.get(channel, {}).get(name)
    try:
        token = bot.token(name).read(environ) if bot is not None and channel == "telegram" else ""
        base_url = str(getattr(bot, "base_url", "")) or None
        return (await BotWish(channel, name, base_url).identify(token)).start if token else ""
    except StrandlineError:
        return ""  # the code alone will do


class BotWish(Struct, frozen=True):
    """A bot that is to be connected."""

    channel: str
    account: str
    base_url: str | None = None
    owner: str | None = None
    """Their id there, if it was given."""
    is_claim: bool = False
    """Nobody is asked; the sender of the code will be the owner."""

    @property
    def address(self) -> str:
        return (self.base_url or _ADDRESSES[self.channel]).rstrip("/")

    @property
    def secret(self) -> str:
        """Name of its token among the home's secrets."""
        middle = "" if self.account == "home" else f"_{self.account.upper().replace('-', '_')}"
        return f"{self.channel.upper()}{middle}_TOKEN"

    async def identify(self, token: str) -> "BotIdentity":
        """Ask the platform whose *token* it is. Raises ConfigError and StrandlineError."""
        from gateway.channels.identity import discord_identity, telegram_identity

        asked = telegram_identity if self.channel == "telegram" else discord_identity
        return await asked(self.address, token)


def connect_bot(invocation: Invocation, home: Home, wanted: BotWish) -> None:
    """Ask for a token, find out whose bot it is and who owns it, and write both. Raises StrandlineError."""
    from gateway.config.changes import set_secret, set_values

    config = config_of(home)
    token = ask_token(invocation, wanted.channel)
    bot = asyncio.run(wanted.identify(token))
    print(visible(f"This is {bot.name} ({bot.handle})."))
    for hint in bot.hints:
        print(f"  note: {hint}")
    person = _owner(wanted, config, bot, token)
    values = _values(wanted, config, person)
    set_secret(home, wanted.secret, token)
    set_values(home, values)
    print(f"Wrote {home.config_file}; the token is in {home.secrets_file}, which only you can read.")
    print_taken_up(invocation, home)
    if bot.invite:
        print(f"Add it to a server of yours: {bot.invite}")
    if person is None and not _has_owner(config, wanted.channel):
        print("It has no owner yet, and answers nobody.")
        asyncio.run(_show_codes(invocation, home, f"{wanted.channel}.{wanted.account}"))
    else:
        print(f"Write to {bot.handle}: it answers you, and nobody else. To let others ask you for access:")
        print(f"  {invocation.command(f'config set channels.{wanted.channel}.{wanted.account}.direct pairing', home)}")


def ask_token(invocation: Invocation, channel: str) -> str:
    """Return a pasted bot token, redacted from all output from now on. Raises ConfigError for another kind of key."""
    from gateway.settings.key_kinds import KIND_OF_CHANNEL, misplaced
    from gateway.settings.secrets_file import checked_secret
    from workspaces.secrets import guarding

    token = ask_secret("Token (not shown)")
    invocation.until_its_end.enter_context(guarding([token]))
    if other := misplaced(token, KIND_OF_CHANNEL[channel]):
        raise ConfigError(
            f"this looks like another kind of key ({other}), not like a {KIND_OF_CHANNEL[channel]}: nothing was stored"
        )
    return checked_secret("TOKEN", token)


def _has_owner(config: "Config", channel: str) -> bool:
    return any(person.startswith(f"{channel}:") for person in config.owner.people)


def _owner(wanted: BotWish, config: "Config", bot: "BotIdentity", token: str) -> str | None:
    """Return the owner's id there; `None` if they are known already, or are to claim the bot."""
    if wanted.owner is not None:
        return wanted.owner.removeprefix(f"{wanted.channel}:")
    if wanted.is_claim or _has_owner(config, wanted.channel):
        return None
    if bot.owner is not None:
        return bot.owner.id if _is_you(bot.owner) else None
    print(f"Now send {bot.handle} any message (Ctrl-C to claim it later by a code).")
    return asyncio.run(_writer(wanted, token))


async def _writer(wanted: BotWish, token: str) -> str | None:
    from gateway.channels.identity import telegram_people

    async for person in telegram_people(wanted.address, token, MESSAGE_WITHIN_S):
        if await asyncio.to_thread(_is_you, person):
            return person.id
        print("Waiting for your message.")
    print("No message of yours came.")
    return None


def _is_you(person: "PersonIdentity") -> bool:
    return bool(typer.confirm(visible(f"Is it you, {person.name} ({person.id})?"), default=True))


def _values(wanted: BotWish, config: "Config", person: str | None) -> Mapping[tuple[str, ...], object]:
    table = ("channels", wanted.channel, wanted.account)
    values: dict[tuple[str, ...], object] = {(*table, "token_env"): wanted.secret}
    if wanted.account not in config.channels.root.get(wanted.channel, {}):
        values[*table, "direct"] = "owner"
    if wanted.base_url is not None:
        values[*table, "base_url"] = wanted.base_url
    if person is not None and f"{wanted.channel}:{person}" not in config.owner.people:
        values["owner", "people"] = [*config.owner.people, f"{wanted.channel}:{person}"]
    return values
