"""`strandline web …` prints what lets a browser in, and which are in, for people and for machines."""

import json

import pytest

from tests.gateway.cli.terminal import Terminal


def open_web(at_home: Terminal, settings: str = "port = 8200") -> Terminal:
    text = at_home.home.config_file.read_text("utf-8")
    at_home.home.write(at_home.home.config_file, f"{text}\n[web]\nenabled = true\n{settings}\n")
    return at_home


@pytest.mark.parametrize(
    ("settings", "address", "is_public"),
    [
        ("port = 8200", "http://127.0.0.1:8200", False),
        ('host = "::1"', "http://[::1]:8181", False),
        ('public_url = "https://agents.example.org/"', "https://agents.example.org", True),
    ],
)
def test_a_link_holds_its_code_where_no_request_has_it(
    at_home: Terminal, settings: str, address: str, is_public: bool
) -> None:
    """Behind "#"; a phone gets it as a QR code, where it can reach the page."""
    said = open_web(at_home, settings)("web", "login").out
    link = f"Open {address}/#ABCDE-FGHJK, or type the code ABCDE-FGHJK at {address}."
    assert said.endswith(f"{link} It works once, within ten minutes.\n")
    drawn = said.removesuffix(f"{link} It works once, within ten minutes.\n")
    assert (len(drawn.splitlines()) > 10) == is_public
    assert set(drawn) <= set(" \n█▀▄") | set("\x1b[0123456789;m")
    assert json.loads(at_home("web", "login", "--json").out) == {"address": address, "code": "ABCDE-FGHJK"}


def test_a_link_to_a_door_that_is_shut_says_how_to_open_it(at_home: Terminal) -> None:
    """One line; so it is for a port that is another one at each start."""
    shut = at_home("web", "login")
    assert (shut.status, shut.out) == (1, "")
    assert "strandline config set web.enabled true" in shut.err
    assert "web.port is 0" in open_web(at_home, "port = 0")("web", "login").err


def test_browsers_are_listed_and_signed_out(at_home: Terminal) -> None:
    """One by its name, or all; to name neither or both is wrong usage."""
    assert at_home("web", "sessions").out == "No browser is signed in.\n"
    open_web(at_home)
    for _ in range(3):
        at_home("web", "login")
    assert at_home("web", "sessions").out.splitlines()[0].startswith("browser1  since 2026-03-03 09:30")
    assert len(json.loads(at_home("web", "sessions", "--json").out)["sessions"]) == 3
    assert at_home("web", "revoke", "browser2").out == "1 signed out\n"
    assert at_home("web", "revoke", "--all", "--json").out == '{"outcome": "2 signed out"}\n'
    assert at_home("web", "revoke").status == at_home("web", "revoke", "x", "--all").status == 2
