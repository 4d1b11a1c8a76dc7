"""Requests that a stranger begins and never ends cost nobody else an answer."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER, make_home, openai_section
from tests.journeys.processes import Gateway, post, server, state
from tests.zygote import FORKED

FILES = 256
PROGRAM = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
from gateway.__main__ import main
main()
"""
"""A gateway that may have fewer files open than the strangers have connections."""
HALVES = {
    "head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half",
    "body": b"POST /control/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n{",
    "nothing": b"",
}


@contextmanager
def half_sent(address: str, half: bytes, number: int) -> Iterator[list[socket.socket]]:
    """Hold so many requests open that end in the middle."""
    where = urlsplit(address)
    assert where.hostname
    assert where.port
    with ExitStack() as stack:
        held = []
        for _ in range(number):
            held.append(stack.enter_context(socket.create_connection((where.hostname, where.port), PATIENCE_S)))
            held[-1].sendall(half)
        yield held


def is_closed(connection: socket.socket) -> bool:
    """Say whether the other side has ended it."""
    connection.setblocking(False)
    try:
        while connection.recv(1_000):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("half", list(HALVES))
def test_requests_that_never_end_cost_nobody_else_an_answer(half: str, tmp_path: Path) -> None:
    """400 of them, beside 256 open files: the owner on Telegram is answered, and so is whoever looks for life."""
    with (
        server("botapi", tmp_path, "--record", str(tmp_path / "telegram.jsonl")) as bot,
        server("openai_stub", tmp_path) as model,
    ):
        home = make_home(tmp_path / "home", bot, openai_section(f"{model}/v1"))
        gateway = Gateway(home, tmp_path / "gateway.log", ("-c", FORKED + PROGRAM))
        gateway.start()
        control = home.control()
        assert control is not None
        try:
            with half_sent(control.address, HALVES[half], 400) as held:
                post(f"{bot}/control/says", {"chat": OWNER, "text": "are you there"})
                (answer,) = state(bot, sent=1)["sent"]
                assert answer["text"] == "You said: are you there"
                assert gateway.get("/healthz") == {"alive": True}
                assert sum(map(is_closed, held)) >= len(held) - FILES // 4
            assert gateway.get("/healthz") == {"alive": True}
            assert gateway.stop() == 0
        finally:
            gateway.kill()
    assert "Too many open files" not in gateway.log.read_text()
