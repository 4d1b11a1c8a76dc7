"""Typing signs and drafts that show, where a channel can, that an answer is being written."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import structlog
from msgspec import Struct

from adapters.abilities import Reacts, ShowsDrafts, ShowsTyping
from adapters.channel import Adapter, Address, ChannelError, InboundMessage, Via
from gateway.turns.drafts import Draft

log = structlog.get_logger()


class SignTimes(Struct, frozen=True):
    """Times of the signs, in seconds."""

    first_after_s: float = 1.0
    """A quicker answer gets no sign and no draft: each is a call to the platform."""
    refresh_s: float = 4.0
    """Telegram's sign fades after five seconds, Discord's after ten."""
    draft_every_s: float = 1.0
    """Interval between draft updates; platforms allow about one change of a chat a second."""
    reaction_timeout_s: float = 10.0
    """Longest time for a channel to set a reaction; our choice."""


SIGN_TIMES = SignTimes()

Follower = Callable[[str, str], None]
"""Called with the platform's id of a message and the whole draft of its answer, synchronously in the event loop."""
ToolFollower = Callable[[str, str], None]
"""Called with the platform's id of a message and the name of a tool that runs for its answer, in the same way."""


class Presence:
    """Keeps the signs of turns up while they run; `async with` owns their tasks.

    A failing sign never disturbs the turn.
    """

    def __init__(
        self, adapters: Mapping[tuple[str, str], Adapter], reaction: str = "", times: SignTimes = SIGN_TIMES
    ) -> None:
        """*reaction* is the emoji set on a message while it is being answered; empty for none."""
        self._times = times
        self._adapters = adapters
        self._reaction = reaction
        self._followers: defaultdict[Address, list[tuple[Follower, ToolFollower]]] = defaultdict(list)
        self._drafts: dict[tuple[Address, str], str] = {}
        """Of the answers that are being written, by the id of the message."""
        self._signs = asyncio.TaskGroup()

    async def __aenter__(self) -> "Presence":
        await self._signs.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._signs.__aexit__(None, None, None)

    @contextmanager
    def follow(
        self, address: Address, follower: Follower, on_tool: ToolFollower = lambda _, __: None
    ) -> Iterator[None]:
        """Call *follower* with every draft at *address*, and *on_tool* with every tool, until the block ends."""
        pair = (follower, on_tool)
        self._followers[address].append(pair)
        try:
            yield
        finally:
            self._followers[address].remove(pair)
            if not self._followers[address]:
                del self._followers[address]

    def drafts(self, address: Address) -> list[str]:
        """Return the drafts of the answers that are being written at *address*."""
        return [text for (at, _), text in self._drafts.items() if at == address]

    @asynccontextmanager
    async def answering(self, message: InboundMessage) -> AsyncIterator[Draft]:
        """Show all signs that the channel of *message* supports until the block ends; they show the draft's text."""
        adapter = self._adapters.get((message.address.channel, message.address.account))
        shown = _LatestDraft()
        draft = Draft(lambda text: self._tell(message, shown, text), lambda tool: self._use_tool(message, tool))
        over = asyncio.Event()
        fading: list[asyncio.Task[None]] = []

        def show() -> None:
            fading.extend(map(self._signs.create_task, _fading(adapter, message.address, shown, self._times)))

        first = asyncio.get_running_loop().call_later(self._times.first_after_s, show)
        if self._reaction and isinstance(adapter, Reacts) and message.via in {Via.TEXT, Via.EDIT}:
            self._signs.create_task(_keep_reaction(adapter, message, self._reaction, over, self._times))
        try:
            yield draft
        finally:
            over.set()
            first.cancel()
            self._drafts.pop((message.address, message.id), None)
            for sign in fading:
                sign.cancel()

    def _tell(self, message: InboundMessage, shown: "_LatestDraft", text: str) -> None:
        shown.grow(text)
        self._drafts[message.address, message.id] = text
        for follower, _ in tuple(self._followers.get(message.address, ())):
            follower(message.id, text)

    def _use_tool(self, message: InboundMessage, tool: str) -> None:
        for _, on_tool in tuple(self._followers.get(message.address, ())):
            on_tool(message.id, tool)


class _LatestDraft:
    """The newest draft of one answer, for a channel that is shown one at intervals."""

    def __init__(self) -> None:
        self.text = ""
        self.has_changed = asyncio.Event()

    def grow(self, text: str) -> None:
        """Take *text* for the whole draft so far."""
        self.text = text
        self.has_changed.set()


def _fading(
    adapter: Adapter | None, address: Address, shown: _LatestDraft, times: SignTimes
) -> Iterator[Coroutine[None, None, None]]:
    """Yield the signs that expire unless they are refreshed."""
    if isinstance(adapter, ShowsTyping):
        yield _keep_typing(adapter, address, times.refresh_s)
    if isinstance(adapter, ShowsDrafts):
        yield _keep_draft(adapter, address, shown, times.draft_every_s)


async def _keep_typing(adapter: ShowsTyping, address: Address, every_s: float) -> None:
    try:
        while True:
            await adapter.show_typing(address)
            await asyncio.sleep(every_s)
    except ChannelError as exc:
        log.info("no typing sign", detail=str(exc))


async def _keep_draft(adapter: ShowsDrafts, address: Address, shown: _LatestDraft, every_s: float) -> None:
    try:
        while True:
            await shown.has_changed.wait()
            shown.has_changed.clear()
            await adapter.show_draft(address, shown.text)
            await asyncio.sleep(every_s)
    except ChannelError as exc:
        log.info("no draft shown", detail=str(exc))


async def _keep_reaction(
    adapter: Reacts, message: InboundMessage, emoji: str, over: asyncio.Event, times: SignTimes
) -> None:
    """Put *emoji* on the message, and remove it when its turn is over."""
    try:
        await _react(adapter, message, emoji, times.reaction_timeout_s)
        await over.wait()
        await _react(adapter, message, "", times.reaction_timeout_s)
    except (ChannelError, TimeoutError) as exc:
        log.info("no reaction", detail=str(exc))


async def _react(adapter: Reacts, message: InboundMessage, emoji: str, timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        await adapter.react(message.address, message.reply_target, emoji)
