"""`strandline web …`: sign-in codes for browsers, and the list and sign-out of their sessions."""

import io
from typing import Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.invocation import config_of, plain_fields
from gateway.control.browsers import BrowserOrder
from gateway.errors import StrandlineError
from gateway.home import Home

app = command_app("Manage browser sign-ins: login, sessions, revoke.")


@app.command()
def login(call: JsonCall) -> None:
    """Show a link that signs in one browser, for a phone as a QR code; valid once, for ten minutes."""
    address, is_public = _address(call.home)
    answer = call.ask(BrowserOrder("link"))
    one_time = f"{address}/#{answer.code}"  # behind "#", so that no browser sends it in an address, and no log has it
    lines = [_qr_code(one_time)] if is_public else []
    lines += [f"Open {one_time}, or type the code {answer.code} at {address}. It works once, within ten minutes."]
    call.print({"address": address, "code": answer.code}, lines)


@app.command()
def sessions(call: JsonCall) -> None:
    """List signed-in browsers."""
    answer = call.ask(BrowserOrder("sessions"))
    lines = [
        f"{each.session}  since {each.since:%Y-%m-%d %H:%M}  until {each.until:%Y-%m-%d}" for each in answer.sessions
    ]
    call.print({"sessions": [plain_fields(each) for each in answer.sessions]}, lines, "No browser is signed in.")


@app.command()
def revoke(
    call: JsonCall,
    session: Annotated[str | None, typer.Argument(help="Session, as shown by `sessions`.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Sign out every browser.")] = False,
) -> None:
    """Sign out a browser at once."""
    if (session is None) != everybody:
        raise typer.BadParameter("name one session, or --all")
    answer = call.ask(BrowserOrder("revoke", session))
    call.print({"outcome": answer.outcome}, [answer.outcome])


def _qr_code(text: str) -> str:
    import segno

    drawn = io.StringIO()
    segno.make(text, micro=False).terminal(drawn, compact=True)
    return drawn.getvalue()


def _address(home: Home) -> tuple[str, bool]:
    """Return the page's address, and whether other devices reach it."""
    web = config_of(home).web
    if not web.enabled:
        raise StrandlineError("the page is off; to open it: strandline config set web.enabled true")
    if web.public_url:
        return web.public_url.rstrip("/"), True
    if not web.port:
        raise StrandlineError("web.port is 0, so the address changes; give it one: strandline config set web.port 8181")
    host = f"[{web.host}]" if ":" in web.host else web.host
    return f"http://{host}:{web.port}", False
