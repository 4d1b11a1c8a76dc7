"""Tests of where the owner's machines end."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import job_address, result_address
from gateway.app.house import chat_reader, is_here, is_here_server, may_carry
from gateway.config.house import HouseSettings
from workspaces.access import AgentId, Locality

OURS = HouseSettings(hosts=("nas.local", "192.168.1.5"), elsewhere=("127.0.0.1:4000", "nas.local:443"))


@pytest.mark.parametrize(
    ("url", "runs_here"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080/v1", True),
        ("http://127.9.9.9/", True),
        ("http://nas.local:8080/v1", True),
        ("http://NAS.local./v1", True),
        ("https://192.168.1.5/v1", True),
        ("http://127.0.0.1:4000/v1", False),
        ("https://nas.local/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://localhost.evil.com/v1", False),
        ("http://127.0.0.1.evil.com/", False),
        ("http://localhost@evil.com/", False),
        ("http://192.168.1.6/v1", False),
        ("http://0x7f000001/", False),
        ("http://[::1/", False),
        ("", False),
        (None, False),
    ],
)
def test_a_model_runs_here_if_its_address_says_so(url: str | None, runs_here: bool) -> None:
    """By a loopback host or one that the owner lists; whatever is not known for sure runs elsewhere."""
    assert is_here(OURS, url) is runs_here


@pytest.mark.parametrize(
    ("elsewhere", "url"),
    [
        ("NAS.local:8080", "http://nas.local:8080/v1"),
        ("nas.local.:8080", "http://nas.local:8080/v1"),
        ("127.0.0.1:04000", "http://127.0.0.1:4000/v1"),
        ("localhost:4000", "http://127.0.0.1:4000/v1"),
        ("127.0.0.1:4000", "http://localhost:4000/v1"),
        ("127.0.0.1:4000", "http://[::1]:4000/v1"),
        ("0:0:0:0:0:0:0:1:4000", "http://[::1]:4000/v1"),
    ],
)
def test_an_address_that_leads_elsewhere_does_so_by_any_spelling(elsewhere: str, url: str) -> None:
    """Case, a final dot, zeros, or another name of this machine let no text out."""
    house = HouseSettings(hosts=("nas.local",), elsewhere=(elsewhere,))
    assert not is_here(house, url)
    assert is_here(house, url.replace("4000", "4001").replace("8080", "8081"))


def test_a_program_is_trusted_by_name_and_a_server_by_its_address() -> None:
    """A program may pass on what it is told, so only the owner knows."""
    ours = HouseSettings(tool_servers=("files",))
    assert is_here_server(ours, "files", None)
    assert not is_here_server(ours, "search", None)
    assert is_here_server(ours, "search", "http://127.0.0.1:9000/mcp")
    assert not is_here_server(ours, "files", "https://mcp.example.com")


@pytest.mark.parametrize("folder", ["..", "/etc", ".", "a/../../b"])
def test_a_folder_lies_in_the_workspace(folder: str) -> None:
    """Anything else is a mistake, and is said at the start."""
    with pytest.raises(ValidationError):
        HouseSettings(folders=(folder,))


APP, PAGE = Address("telegram", "home", "7"), Address("web", "page", "7")
AGENT = AgentId("main")


@pytest.mark.parametrize(
    ("address", "answers_to", "is_here"),
    [
        (PAGE, None, True),
        (APP, None, False),
        (job_address(AGENT, "1"), APP, False),
        (job_address(AGENT, "1"), PAGE, True),
        (job_address(AGENT, "1"), None, True),
        (Address("helper", "main", "subagent:1"), result_address(AGENT, "main", APP), False),
        (Address("helper", "main", "subagent:1"), result_address(AGENT, "main", PAGE), True),
    ],
)
def test_a_chat_app_is_known_by_where_the_answer_goes(
    address: Address, answers_to: Address | None, *, is_here: bool
) -> None:
    """Also of jobs and subagents; by default the apps may carry all."""
    message = InboundMessage(
        address,
        "1",
        Sender("7", "Kim"),
        ChatKind.DIRECT,
        "hi",
        True,
        datetime(2026, 1, 1, tzinfo=UTC),
        answers_to=answers_to,
    )
    strict = HouseSettings(chat_apps=False)
    assert (chat_reader(strict, message) is Locality.HERE) is is_here
    assert chat_reader(HouseSettings(), message) is Locality.HERE
    assert (may_carry(strict, PAGE), may_carry(strict, APP), may_carry(HouseSettings(), APP)) == (True, False, True)
