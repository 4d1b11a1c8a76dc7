import asyncio
import errno
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from itertools import product
from typing import Literal

import httpx
import pytest

from gateway.control.operator import SEARCH
from gateway.control.order import Answers, Order
from gateway.control.remote import RemoteOperator, reach_gateway
from gateway.control.server import BODY_CAP, control_app
from gateway.control.status_wire import MemoryOrder, Status, StatusOrder
from gateway.control.stream_wire import ChatOrder, ChatSign, IndexOrder
from gateway.control.wire import OriginOrder, SearchOrder, SessionsAnswer, SessionsOrder, WhyOrder
from gateway.errors import ConfigError, StrandlineError
from gateway.home import ControlFile
from gateway.runtime.http_server import is_numeric_or_local, listening, serving
from tests.fakes.operator import FakeOperator
from tests.fakes.patience import PATIENCE_S

TOKEN = "the-right-token"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def gateway() -> FakeOperator:
    return FakeOperator(("main", "work"))


@pytest.fixture
async def address(gateway: FakeOperator) -> AsyncIterator[str]:
    async with serving(control_app(gateway, gateway, TOKEN), "127.0.0.1", 0) as address:
        yield address


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
async def operator(address: str) -> AsyncIterator[RemoteOperator]:
    async with reach_gateway(ControlFile(address, TOKEN, os.getpid())) as operator:
        assert operator is not None
        yield operator


async def no_reply(_: str, __: bool) -> None:
    pytest.fail("a reply")


# --- probes


async def test_health_answers_without_a_token(http: httpx.AsyncClient) -> None:
    """A probe has no secret: it learns that the process lives, and a person how to go on."""
    assert (await http.get("/healthz")).json() == {"alive": True}
    assert "strandline chat" in (await http.get("/")).text


async def test_ready_is_said_only_when_it_is_true(http: httpx.AsyncClient, gateway: FakeOperator) -> None:
    """503 and what is still loading, then 200."""
    gateway.ready, gateway.loading = False, ["channels.telegram"]
    waiting = await http.get("/readyz")
    told = {"ready": False, "standby": False, "loading": ["channels.telegram"]}
    assert (waiting.status_code, waiting.json()) == (503, told)
    gateway.ready, gateway.loading = True, []
    ready = await http.get("/readyz")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)


# --- the door

PATHS = [
    "alive",
    "status",
    "chat",
    "search",
    "index",
    "memory",
    "why",
    "origin",
    "absent",
]


async def test_nothing_opens_without_the_token(http: httpx.AsyncClient) -> None:
    """Every path behind `/control/` refuses alike, whether it exists or not, and does nothing."""
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN[:-1]}, {"Authorization": ""}):
        for method, path in product(("GET", "POST"), PATHS):
            response = await http.request(method, f"/control/{path}", headers=given)
            assert (response.status_code, path) == (401, path)


async def test_the_token_opens(http: httpx.AsyncClient) -> None:
    """The refusals above are the token's doing."""
    assert (await http.post("/control/status", headers=WITH_TOKEN, json={})).status_code == 200


async def test_a_name_that_somebody_else_resolves_is_refused(http: httpx.AsyncClient) -> None:
    """A page that makes its own name point at loopback reads nothing, not even with the token."""
    for path in ("/", "/healthz", "/control/status"):
        response = await http.get(path, headers=WITH_TOKEN | {"Host": "evil.example"})
        assert response.status_code == 421


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1:80", True),
        ("localhost", True),
        ("localhost:1", True),
        ("[::1]:80", True),
        ("10.0.0.7:8123", True),
        ("", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:80", False),
        ("[::1", False),
    ],
)
def test_only_addresses_and_localhost_are_hosts(host: str, is_ours: bool) -> None:
    """An address cannot be made to mean another machine; a name can."""
    assert is_numeric_or_local(host) is is_ours


async def test_a_browser_is_refused_and_told_nothing(http: httpx.AsyncClient) -> None:
    """A request from a page carries its Origin; there is no CORS answer either."""
    response = await http.get("/control/status", headers=WITH_TOKEN | {"Origin": "http://127.0.0.1"})
    assert response.status_code == 403
    preflight = await http.options("/control/status", headers={"Origin": "http://evil.example"})
    assert not [name for name in preflight.headers if name.startswith("access-control")]


async def test_a_giant_request_is_refused_unread(http: httpx.AsyncClient) -> None:
    """By its announced length; one that announces none is not read at all."""
    giant = await http.post("/control/chat", headers=WITH_TOKEN, content=b"x" * (BODY_CAP + 1))
    assert giant.status_code == 413

    async def chunks() -> AsyncIterator[bytes]:
        yield b"{}"

    assert (await http.post("/control/chat", headers=WITH_TOKEN, content=chunks())).status_code == 413


# --- what passes through it


async def test_status_arrives_as_it_was_sent(operator: RemoteOperator, gateway: FakeOperator) -> None:
    """Both sides hold the same value: nothing is lost or renamed on the wire."""
    assert await operator.ask(StatusOrder()) == await gateway.ask(StatusOrder())


async def test_a_chat_arrives_message_by_message(operator: RemoteOperator) -> None:
    """Each reply is told once, in order, and the call returns when the answer is complete."""
    replies: list[tuple[str, bool]] = []

    async def on_reply(text: str, is_answer: bool) -> None:
        replies.append((text, is_answer))

    assert await operator.chat(ChatOrder("one\ntwo ☂", "work"), on_reply) == "work"
    assert replies == [("You said: one", True), ("You said: two ☂", True)]


async def test_the_signs_of_an_answer_arrive_in_order(operator: RemoteOperator) -> None:
    """Tool, draft, and the reason that a message must wait."""
    signs: list[ChatSign] = []

    async def on_reply(_: str, __: bool) -> None: ...

    await operator.chat(ChatOrder("one"), on_reply, signs.append)
    await operator.chat(ChatOrder("wait"), no_reply, signs.append)
    assert [sign.kind for sign in signs] == ["tool", "draft", "postponed"]


async def test_a_reader_that_has_left_is_not_answered(operator: RemoteOperator, gateway: FakeOperator) -> None:
    """The chat ends with its connection, so that the answer waits for the next reader and is not shown to nobody."""
    gateway.may_answer.clear()
    chat = asyncio.create_task(operator.chat(ChatOrder("slow"), no_reply))
    async with asyncio.timeout(PATIENCE_S):
        await gateway.asked.wait()
        chat.cancel()
        await gateway.was_left.wait()


async def test_a_failed_chat_says_why(operator: RemoteOperator) -> None:
    """The gateway's sentence reaches the operator."""
    with pytest.raises(StrandlineError, match="the model is down"):
        await operator.chat(ChatOrder("fail"), no_reply)


async def test_a_file_that_cannot_be_read_is_a_sentence(
    operator: RemoteOperator, gateway: FakeOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command names the file, and sends nobody to the log."""

    async def fail(_: object) -> Status:
        raise PermissionError(errno.EACCES, "Permission denied", "/srv/home/agents/main/sessions")

    monkeypatch.setattr(gateway, "ask", fail)
    with pytest.raises(StrandlineError, match="/srv/home/agents/main/sessions cannot be used"):
        await operator.ask(StatusOrder())


@pytest.mark.parametrize("call", ["search", "memory_status", "index", "chat"])
async def test_an_unknown_agent_is_named_with_the_known_ones(operator: RemoteOperator, call: str) -> None:
    """The refusal lists what would work."""
    calls: dict[str, Callable[[], object]] = {
        "search": lambda: operator.ask(SearchOrder("x", "wrok")),
        "memory_status": lambda: operator.ask(MemoryOrder("wrok")),
        "index": lambda: operator.follow(IndexOrder("wrok")),
        "chat": lambda: operator.chat(ChatOrder("x", "wrok"), no_reply),
    }
    with pytest.raises(StrandlineError, match="no agent 'wrok'; the agents are: main, work"):
        await calls[call]()  # type: ignore[misc]  # each is a coroutine of its own type


async def test_a_search_is_foreseen_before_what_answers_it_is_loaded(
    operator: RemoteOperator, gateway: FakeOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts that answer load while the memory worker starts."""
    answers = gateway.answers

    def loaded(_: FakeOperator) -> Answers:
        assert gateway.foreseen == [SEARCH]
        return answers

    monkeypatch.setattr(FakeOperator, "answers", property(loaded))
    await operator.ask(SearchOrder("anything", None))


async def test_memory_is_searched_and_indexed(operator: RemoteOperator, gateway: FakeOperator) -> None:
    """Hits keep their place and score; progress is told step by step, the outcome at the end."""
    gateway.said["main"] = ["port 5433", "nothing", "port 22"]
    found = await operator.ask(SearchOrder("port", max_results=2))
    assert [(hit.citation, hit.score) for hit in found.hits] == [
        ("memory/2026-03-03.md#L1-L1", 1.0),
        ("memory/2026-03-03.md#L3-L3", 1 / 3),
    ]
    steps: list[tuple[int, int]] = []
    assert await operator.follow(IndexOrder(), lambda *step: steps.append(step)) == "3 entries"
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert await operator.ask(MemoryOrder()) == await gateway.ask(MemoryOrder())
    assert await operator.ask(WhyOrder()) == await gateway.ask(WhyOrder())
    earlier = SearchOrder("one", as_of=date(2026, 3, 1))
    assert await operator.ask(earlier) == await gateway.ask(earlier)
    assert not (await operator.ask(earlier)).hits
    traced = OriginOrder("memory/2026-03-03.md#L1")
    assert await operator.ask(traced) == await gateway.ask(traced)


@pytest.mark.parametrize("act", ["list", "show", "export", "search"])
async def test_conversations_arrive_as_they_were_read(
    operator: RemoteOperator, gateway: FakeOperator, act: Literal["list", "show", "export", "search"]
) -> None:
    """Rows, records and matches with their times and days."""
    gateway.said["main"] = ["one", "two", "call it ☂"]
    order = SessionsOrder(act, None, "main", "o", date(2026, 3, 1), date(2026, 3, 4), limit=2)
    answer = await operator.ask(order)
    assert answer == await gateway.ask(order)
    assert answer != SessionsAnswer()


async def test_a_failed_indexing_run_says_why(operator: RemoteOperator, gateway: FakeOperator) -> None:
    """An error after some progress is still an error."""
    gateway.said["main"] = ["unreadable"]
    with pytest.raises(StrandlineError, match="cannot be read"):
        await operator.follow(IndexOrder())


async def test_a_malformed_order_is_refused_with_its_field(http: httpx.AsyncClient) -> None:
    """Not JSON, no object, a missing field: 400 and a sentence."""
    for body, where in (
        (b"nonsense", "malformed"),
        (b"[]", "object"),
        (b"{}", "`query`"),
        (b'{"query": 1}', "`$.query`"),
    ):
        response = await http.post("/control/search", headers=WITH_TOKEN, content=body)
        assert response.status_code == 400
        assert response.json()["error"].startswith("the request is not understood: ")
        assert where in response.json()["error"]


async def test_an_order_that_the_gateway_does_not_know_is_a_sentence(operator: RemoteOperator) -> None:
    """It comes from a command of another version, and says so."""

    class AbsentOrder(Order[str], frozen=True):
        """An order of a later version."""

    with pytest.raises(StrandlineError, match="/control/absent is unknown here; is the command of another version"):
        await operator.ask(AbsentOrder())


# --- coming and going


async def test_one_slow_chat_does_not_hold_up_the_others(operator: RemoteOperator, gateway: FakeOperator) -> None:
    """Status is answered while an answer is being waited for."""
    gateway.may_answer.clear()

    async def on_reply(_: str, __: bool) -> None: ...

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        chat = tasks.create_task(operator.chat(ChatOrder("slow"), on_reply))
        await gateway.asked.wait()
        assert (await operator.ask(StatusOrder())).ready
        assert not chat.done()
        gateway.may_answer.set()


async def test_a_gateway_that_stops_during_a_chat_is_a_sentence(gateway: FakeOperator) -> None:
    """The stream is cut, and the command says so; the server does not wait for ever."""
    gateway.may_answer.clear()
    app = control_app(gateway, gateway, TOKEN)

    @asynccontextmanager
    async def chatting() -> AsyncIterator[asyncio.Task[None]]:
        async with asyncio.TaskGroup() as tasks, serving(app, "127.0.0.1", 0, grace_s=0) as at:
            control = ControlFile(at, TOKEN, os.getpid())

            async def chat() -> None:
                async with reach_gateway(control) as operator:
                    assert operator is not None
                    with pytest.raises(StrandlineError, match="closed the connection"):
                        await operator.chat(ChatOrder("slow"), no_reply)

            yield tasks.create_task(chat())

    async with asyncio.timeout(PATIENCE_S), chatting() as task:
        await gateway.asked.wait()
    assert task.done()


async def test_a_gateway_that_is_gone_or_another_is_not_reached(address: str) -> None:
    """Nobody listening, or somebody who does not know the token: as if there were none."""
    async with reach_gateway(ControlFile(address, "a stale token", 1)) as operator:
        assert operator is None
    async with reach_gateway(ControlFile("http://127.0.0.1:1", TOKEN, 1)) as operator:
        assert operator is None


async def test_a_port_in_use_is_named(address: str, gateway: FakeOperator) -> None:
    """One line says which setting to change."""
    port = int(address.rpartition(":")[2])
    with pytest.raises(
        ConfigError,
        match=rf"gateway\.port: cannot listen on 127\.0\.0\.1 port {port}: Address already in use; choose",
    ):
        async with serving(control_app(gateway, gateway, TOKEN), "127.0.0.1", port):
            pytest.fail("two servers on one port")


async def test_signals_stay_the_gateways(gateway: FakeOperator) -> None:
    """The server inside the loop installs no handlers of its own."""
    before = [signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)]
    async with serving(control_app(gateway, gateway, TOKEN), "127.0.0.1", 0) as address:
        async with reach_gateway(ControlFile(address, TOKEN, 1)) as operator:
            assert operator is not None  # it runs, so its handlers would be there
        assert [signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)] == before


def test_no_answer_waits_for_the_receipt_of_its_head() -> None:
    """Connections to our doors send at once what is written: a body would else come 40 ms after its head."""
    with listening("127.0.0.1", 0, "gateway.port") as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
