"""What `strandline doctor` finds at the HTTP door: who listens there, and what keeps it from opening."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.cli.doctor.web import check_http_door
from gateway.config import read_config
from gateway.control.finding import Finding, Level
from gateway.home import Home
from tests.fakes.provider_stub import instant
from tests.gateway.web.house import OWNER_TOKEN, open_house


async def found(folder: Path, web: str, **environ: str) -> list[Finding]:
    """Return what is found where `[web]` says so."""
    home = Home(folder / "asked")
    home.create()
    home.write(home.config_file, f"[agents.main]\n[web]\n{web}")
    return [each async for each in check_http_door(read_config(home.config_file), environ)]


@asynccontextmanager
async def another_program(says: bytes) -> AsyncIterator[int]:
    """Answer every request with *says*, at the port that is given."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(says)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_door_that_is_shut_says_how_it_is_opened(tmp_path: Path) -> None:
    """That is no fault."""
    (finding,) = await found(tmp_path, "")
    assert finding.level is Level.OK
    assert "config set web.enabled true" in finding.detail


async def test_an_open_page_is_known_by_its_answer(tmp_path: Path) -> None:
    """A real gateway's: then it says how a browser gets in."""
    async with open_house(tmp_path, instant) as house:
        port = house.address.rpartition(":")[2]
        (finding,) = await found(tmp_path, f"enabled = true\nport = {port}")
    assert finding.level is Level.OK
    assert "strandline web login" in finding.detail


async def test_a_port_that_is_free_is_where_the_page_will_open(tmp_path: Path) -> None:
    """Nobody listens there until the gateway starts."""
    async with another_program(b"") as port:
        pass
    (finding,) = await found(tmp_path, f"enabled = true\nport = {port}")
    assert finding.level is Level.OK
    assert "is free" in finding.detail


@pytest.mark.parametrize(
    "says",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
        b"SSH-2.0\r\n",
    ],
    ids=["a page", "another lock", "no HTTP"],
)
async def test_another_program_at_the_port_is_a_failure(tmp_path: Path, says: bytes) -> None:
    """The gateway could not start: the setting to change is named."""
    async with another_program(says) as port:
        (finding,) = await found(tmp_path, f"enabled = true\nport = {port}")
    assert finding.level is Level.FAIL
    assert str(port) in finding.detail
    assert "web.port" in finding.mend


async def test_tokens_that_cannot_be_told_apart_or_guessed_are_failures(tmp_path: Path) -> None:
    """By the names of the settings; the tokens themselves are not shown."""
    held = '[web.tokens.{}]\ntoken_env = "{}"\nowner = true\n'
    door = "enabled = true\nport = 0\n" + held.format("one", "ONE") + held.format("two", "TWO")
    for one, two, says in (("short", OWNER_TOKEN, "24 characters"), (OWNER_TOKEN, OWNER_TOKEN, "the same")):
        finding, *_ = await found(tmp_path, door, ONE=one, TWO=two)
        assert finding.level is Level.FAIL
        assert says in finding.detail
        assert OWNER_TOKEN not in finding.detail
    assert all(each.level is not Level.FAIL for each in await found(tmp_path, door, ONE=OWNER_TOKEN))


@pytest.mark.parametrize(
    ("web", "says"),
    [
        ('host = "0.0.0.0"\nallow_remote = true\nport = 0', "without TLS"),
        ('public_url = "http://agents.example.org"\nallow_plain_http = true\nport = 0', "no TLS"),
        ("port = 0", "changes with each start"),
    ],
)
async def test_a_way_in_that_others_may_read_or_nobody_finds_is_a_warning(tmp_path: Path, web: str, says: str) -> None:
    """It works, and one should know."""
    finding, *_ = await found(tmp_path, f"enabled = true\n{web}")
    assert finding.level is Level.WARN
    assert says in finding.detail
    assert finding.mend
