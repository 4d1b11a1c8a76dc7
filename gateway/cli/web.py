"""`strandline web …`: sign-in codes for browsers, and the list and sign-out of their sessions."""

import io
from dataclasses import asdict
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import ask
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_answer
from gateway.control.browsers import BrowserOrder
from gateway.errors import StrandlineError
from gateway.home import Home

app = command_app("Manage browser sign-ins: login, sessions, revoke.")


@app.command()
def login(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show a link that signs in one browser, for a phone as a QR code; valid once, for ten minutes."""
    invocation: Invocation = context.obj
    address, is_public = _address(invocation.home(home))
    answer = ask(context, home, BrowserOrder("link"))
    one_time = f"{address}/#{answer.code}"  # behind "#", so that no browser sends it in an address, and no log has it
    lines = [_qr_code(one_time)] if is_public else []
    lines += [f"Open {one_time}, or type the code {answer.code} at {address}. It works once, within ten minutes."]
    print_answer({"address": address, "code": answer.code}, as_json, lines)


@app.command()
def sessions(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List signed-in browsers."""
    answer = ask(context, home, BrowserOrder("sessions"))
    lines = [
        f"{each.session}  since {each.since:%Y-%m-%d %H:%M}  until {each.until:%Y-%m-%d}" for each in answer.sessions
    ]
    print_answer({"sessions": [asdict(each) for each in answer.sessions]}, as_json, lines, "No browser is signed in.")


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
    print_answer({"outcome": answer.outcome}, as_json, [answer.outcome])


def _qr_code(text: str) -> str:
    import segno

    drawn = io.StringIO()
    segno.make(text, micro=False).terminal(drawn, compact=True)
    return drawn.getvalue()


def _address(home: Home) -> tuple[str, bool]:
    """Return the page's address, and whether other devices reach it."""
    from gateway.config import read_config

    web = read_config(home.config_file).web
    if not web.enabled:
        raise StrandlineError("the page is off; to open it: strandline config set web.enabled true")
    if web.public_url:
        return web.public_url.rstrip("/"), True
    if not web.port:
        raise StrandlineError("web.port is 0, so the address changes; give it one: strandline config set web.port 8181")
    host = f"[{web.host}]" if ":" in web.host else web.host
    return f"http://{host}:{web.port}", False
