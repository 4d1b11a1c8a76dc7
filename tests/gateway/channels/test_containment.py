"""Adapters of packages: the errors that leave them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from importlib.metadata import EntryPoint

import pytest

from adapters.abilities import FetchesFiles, HasMenu, Moves, Reacts, SendsFiles, ShowsDrafts, ShowsTyping, Wakes
from adapters.channel import (
    Adapter,
    Address,
    Attachment,
    AttachmentKind,
    Body,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    FetchRefusedError,
    InboundMessage,
    OutboundMessage,
    Receive,
    SendRefusedError,
    Sent,
    UnsureSendError,
)
from gateway.channels.containment import contain
from gateway.errors import StoreError
from gateway.plugins import CHANNELS, Plugin

CHAT = Address("smoke", "home", "anna")
FILE = Attachment(AttachmentKind.PHOTO, "1")
PLUGIN = Plugin(CHANNELS, "smoke", (("smoke-signals", EntryPoint("smoke", "smoke_signals:Settings", CHANNELS)),))


class Smoke:
    """An adapter whose every call raises *error*, or works without one."""

    channel, account, upload_limit, caption_limit = "smoke", "home", 10, 20

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error

    def render(self, markdown: str) -> Sequence[Body]:
        self._fail()
        return [Body(markdown)]

    async def listen(self, receive: Receive) -> None:
        self._fail()

    async def send(self, message: OutboundMessage) -> Sent:
        self._fail()
        return Sent(message.key)

    async def show_typing(self, address: Address) -> None:
        self._fail()

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        yield b"piece"
        self._fail()

    def on_reachable(self, wake: Callable[[], None]) -> None:
        self._fail()

    async def close(self) -> None:
        self._fail()


async def receive(_: InboundMessage) -> str | None:
    """Take nothing."""
    return None


async def fetched(adapter: Adapter) -> list[bytes]:
    assert isinstance(adapter, FetchesFiles)
    return [piece async for piece in adapter.fetch(FILE)]


async def rendered(adapter: Adapter) -> Sequence[Body]:
    return adapter.render("hello")


async def woken(adapter: Adapter) -> None:
    assert isinstance(adapter, Wakes)
    adapter.on_reachable(lambda: None)


async def typed(adapter: Adapter) -> None:
    assert isinstance(adapter, ShowsTyping)
    await adapter.show_typing(CHAT)


CALLS: list[tuple[Callable[[Adapter], Awaitable[object]], str, type[ChannelError]]] = [
    (rendered, "render", SendRefusedError),
    (lambda adapter: adapter.listen(receive), "listen", ChannelUnavailableError),
    (lambda adapter: adapter.send(OutboundMessage(CHAT, Body("hello"), "1")), "send", UnsureSendError),
    (typed, "show_typing", ChannelConfigError),
    (fetched, "fetch", FetchRefusedError),
    (woken, "on_reachable", ChannelConfigError),
    (lambda adapter: adapter.close(), "close", ChannelUnavailableError),
]


@pytest.mark.parametrize(("call", "name", "error"), CALLS)
@pytest.mark.parametrize("raised", [KeyError("hill"), SystemExit(1), TimeoutError()])
async def test_an_unexpected_error_becomes_one_that_the_gateway_knows(
    call: Callable[[Adapter], Awaitable[object]], name: str, error: type[ChannelError], raised: BaseException
) -> None:
    """It names the call, the fault and the remedy."""
    with pytest.raises(error) as caught:
        await call(contain(Smoke(raised), PLUGIN))
    assert f"failed in {name}(): {type(raised).__name__}" in str(caught.value)
    assert "pip uninstall" in str(caught.value)


@pytest.mark.parametrize("raised", [ChannelUnavailableError("away", 3.0), UnsureSendError("cut"), StoreError("full")])
@pytest.mark.parametrize(("call", "name", "error"), CALLS)
async def test_expected_errors_pass(
    call: Callable[[Adapter], Awaitable[object]], name: str, error: type[ChannelError], raised: Exception
) -> None:
    """Errors of the contract, and the store's that an adapter hands on, stay what they are."""
    with pytest.raises(type(raised)) as caught:
        await call(contain(Smoke(raised), PLUGIN))
    assert caught.value is raised


async def test_an_adapter_keeps_its_abilities_and_gets_no_other() -> None:
    """The gateway asks by protocols what a channel can do."""
    adapter = contain(Smoke(), PLUGIN)
    can: tuple[type, ...] = (ShowsTyping, FetchesFiles, SendsFiles, Wakes)
    cannot: tuple[type, ...] = (ShowsDrafts, Reacts, HasMenu, Moves)
    assert tuple(each for each in (*can, *cannot) if isinstance(adapter, each)) == can
    assert (adapter.channel, adapter.account) == ("smoke", "home")
    assert await fetched(adapter) == [b"piece"]
    assert (await adapter.send(OutboundMessage(CHAT, Body("hello"), "7"))).message_id == "7"


async def test_listening_that_ends_is_an_outage() -> None:
    """A `listen` that returns would be called again at once, for ever."""
    with pytest.raises(ChannelUnavailableError, match="it returned, and listens no more"):
        await contain(Smoke(), PLUGIN).listen(receive)
