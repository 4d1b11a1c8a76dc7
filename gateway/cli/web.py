"""`strandline web …`: sign-in codes for browsers, and the list and sign-out of their sessions."""

from dataclasses import asdict
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import ask
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.control.browsers import BrowserOrder
from gateway.errors import StrandlineError
from gateway.home import Home

app = command_app("Manage browser sign-ins: link, sessions, revoke.")


@app.command()
def link(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show the page's address and a code that signs in one browser; valid once, for ten minutes."""
    invocation: Invocation = context.obj
    address = _address(invocation.home(home))
    answer = ask(context, home, BrowserOrder("link"))
    if as_json:
        print_json({"address": address, "code": answer.code})
        return
    print(f"Open {address} and type the code {answer.code} there. It works once, within ten minutes.")


@app.command()
def sessions(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List signed-in browsers."""
    answer = ask(context, home, BrowserOrder("sessions"))
    if as_json:
        print_json({"sessions": [asdict(each) for each in answer.sessions]})
        return
    for each in answer.sessions:
        print(f"{each.session}  since {each.since:%Y-%m-%d %H:%M}  until {each.until:%Y-%m-%d} (UTC)")
    if not answer.sessions:
        print("No browser is signed in.")


@app.command()
def revoke(
    context: typer.Context,
    session: Annotated[str | None, typer.Argument(help="Session, as shown by `sessions`.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Sign out every browser.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Sign out a browser at once."""
    if (session is None) != everybody:
        raise typer.BadParameter("name one session, or --all")
    answer = ask(context, home, BrowserOrder("revoke", session))
    if as_json:
        print_json({"outcome": answer.outcome})
    else:
        print(answer.outcome)


def _address(home: Home) -> str:
    from gateway.config import read_config

    web = read_config(home.config_file).web
    if not web.enabled:
        raise StrandlineError("the page is off: set enabled = true under [web], and restart the gateway")
    if web.public_url:
        return web.public_url
    if not web.port:
        raise StrandlineError("web.port is 0, a free one; strandline up shows which, or set one")
    return f"http://[{web.host}]:{web.port}" if ":" in web.host else f"http://{web.host}:{web.port}"
