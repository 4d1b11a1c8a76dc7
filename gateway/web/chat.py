"""The page's chat: accepts the owner's messages, and streams events.

A stream begins with the stored conversation or, for a page that names the last event it has, with the events after
that one. So a broken connection loses nothing.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict

from msgspec import Struct, structs
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from adapters.abilities import MenuEntry
from adapters.channel import Adapter, ChannelUnavailableError
from adapters.web import CHANNEL, PageEvent, PageEventKind, PageMessage, Sign, WebAdapter
from gateway.admission.routing import SessionKey
from gateway.agent.entries import Entry, ReplyEntry
from gateway.agent.receipts import LEAD, ReceiptLevel, parted, receipt_line
from gateway.commands.offers import Offers
from gateway.control.agents import terminal_access
from gateway.delivery.outgoing_files import enclosed_by
from gateway.errors import StoreError
from gateway.runtime.escape import visible
from gateway.stores.rows import CHANGE_PREFIX, NOTICE_PREFIX, Enclosure, TurnId
from gateway.transcripts.store import Sessions
from gateway.transcripts.writer import Transcript
from gateway.turns.presence import Presence
from gateway.web.errors import NOT_TAKEN, SERVER, HttpError
from gateway.web.login import COOKIE, Login, read_body
from gateway.web.markdown_html import to_html
from gateway.web.page_files import FILES_AT_MOST, FileBody
from gateway.web.page_mirror import WaitingMessages, page_messages, show_said
from workspaces.access import AgentId, SessionType

SHOWN_OF_THE_PAST = 60
"""Messages, answers and notices at the start of a page."""
PAGES_AT_MOST = 20
"""Pages open for one agent."""
WAITING_AT_MOST = 200
"""Events waiting for a page that reads none, such as on a closed laptop; it may request as many again."""
LOOK_EVERY_S = 15.0
"""Seconds between keep-alive events; a stream then checks that its browser is still signed in."""
PATIENCE_S = 10.0
"""Seconds that a page waits until its message is durable; our choice."""
TEXT_CAP = 100_000
"""Characters of one message."""


DRAFT_EVERY_S = 0.06
"""Least seconds between two drafts of an answer: smooth for the eye. Each is converted whole, so a long one rests as
long as it took."""


class ToolSign(Struct, frozen=True):
    """An answer waits for a tool."""

    name: str


class _MessageBody(BaseModel):
    agent: str = Field(max_length=64)
    text: str = Field(max_length=TEXT_CAP)
    files: list[FileBody] = Field([], max_length=FILES_AT_MOST)
    id: str = Field("", pattern="^[A-Za-z0-9-]{0,64}$")
    """Set by the page: repeating it, when the outcome is unknown, repeats the same message."""


class ChatPages(Struct, frozen=True):
    """The pages below `/chat` that talk to agents."""

    entrance: Login
    adapters: Mapping[tuple[str, str], Adapter]
    presence: Presence
    sessions: Sessions
    waiting: WaitingMessages
    menu: Callable[[], Sequence[MenuEntry]]
    """Returns the commands that the owner may give in a message."""
    offers: Offers | None = None
    """Knows the buttons of an answer; `None` for none."""
    receipts: ReceiptLevel = ReceiptLevel.OFF
    """How much of what a turn did is shown below its answer."""

    def routes(self) -> list[Route]:
        return [
            Route("/chat/messages", self.say, methods=["POST"]),
            Route("/chat/events", self.events),
            Route("/chat/commands", self.commands),
        ]

    def end(self) -> None:
        """End every stream: the gateway is stopping."""
        for adapter in self.adapters.values():
            if isinstance(adapter, WebAdapter):
                adapter.end()

    async def say(self, request: Request) -> Response:
        await self.entrance.check_act(request)
        said = read_body(_MessageBody, await request.body())
        if not said.text.strip() and not said.files:
            raise HttpError(400, "the message is empty", param="text")
        page, files = self._adapter(said.agent), tuple(each.attachment() for each in said.files)
        try:
            async with asyncio.timeout(PATIENCE_S):
                message = await page.say(said.text, said.id, files)
        except TimeoutError as exc:
            raise HttpError(
                503, "not accepted yet: the gateway is busy; send it again", SERVER, code=NOT_TAKEN
            ) from exc
        except (ChannelUnavailableError, StoreError) as exc:
            raise HttpError(503, f"not accepted: {exc}", SERVER, code=NOT_TAKEN) from exc
        show_said(page, message)
        return JSONResponse({"id": message.id})

    async def commands(self, request: Request) -> Response:
        await self.entrance.check(request)
        return JSONResponse([{"name": each.name, "usage": each.usage, "help": each.help} for each in self.menu()])

    async def events(self, request: Request) -> Response:
        await self.entrance.check(request)
        adapter = self._adapter(request.query_params.get("agent", ""))
        if adapter.readers >= PAGES_AT_MOST:
            raise HttpError(503, f"{PAGES_AT_MOST} pages are open for this agent; close some", SERVER)
        stream = self._stream(adapter, request.headers.get("last-event-id", ""), request.cookies[COOKIE])
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _stream(self, adapter: WebAdapter, last: str, secret: str) -> AsyncIterator[bytes]:
        heard, marked = _PendingEvents(), list[str]()
        with (
            ExitStack() as watching,
            adapter.attach(heard.event),
            self.presence.follow(
                adapter.address, lambda _, text: heard.draft(text), lambda _, tool: heard.event(ToolSign(tool))
            ),
        ):
            for page in self._pages():
                watching.enter_context(page.watch(heard.look))
            for draft in self.presence.drafts(adapter.address):
                heard.draft(draft)
            for event in await self._missed_events(adapter, last):
                yield event
            while not heard.is_over:
                await self.waiting.ask(adapter)
                if (unread := [each.account for each in self._pages() if each.has_unread]) != marked:
                    yield _sse("unread", {"agents": unread}, None)
                    marked = unread
                try:
                    async with asyncio.timeout(LOOK_EVERY_S):
                        await heard.something()
                except TimeoutError:
                    yield b": alive\n\n"
                if await self.entrance.sign_ins.session(secret) is None:
                    return
                taken, begun = heard.taken(), time.monotonic()
                for each in taken:
                    yield await self._live_event(adapter, each)
                if any(isinstance(each, str) for each in taken):
                    await asyncio.sleep(max(DRAFT_EVERY_S, time.monotonic() - begun))

    async def _missed_events(self, adapter: WebAdapter, last: str) -> list[bytes]:
        """Return the events that the page lacks: those after its last one, or the stored conversation."""
        epoch, _, number = last.partition("-")
        missed = adapter.since(epoch, int(number)) if number.isdecimal() and len(number) < 16 else None
        if missed is not None:
            return [await self._event(adapter, each) for each in missed]
        latest = adapter.latest
        history = await self._history(adapter)
        return [_sse("history", history, f"{adapter.epoch}-{latest}")]

    async def _history(self, adapter: WebAdapter) -> dict[str, object]:
        """Return the end of the owner's conversation with an agent, on all channels, and of notices.

        `has_earlier` tells whether something was said before it.

        No conversation stores notices: only recent ones of this page are left, and requests that wait for a decision.
        """
        agent, asked = AgentId(adapter.account), await self.waiting.ask(adapter)
        transcript = await self.conversation(agent)
        said = [*page_messages(transcript.records)]
        notices = [
            structs.replace(each, buttons=())
            if each.turn.startswith(CHANGE_PREFIX) and each.turn not in asked
            else each
            for each in adapter.recent
            if each.turn.startswith(NOTICE_PREFIX)
        ]
        every = sorted((*said, *notices), key=lambda each: each.at)
        shown = [each for each in every[:-SHOWN_OF_THE_PAST] if each.turn in asked] + every[-SHOWN_OF_THE_PAST:]
        known = {each.turn for each in said}
        waiting = [each for each in await self.waiting.of(agent) if each.turn not in known]
        messages = [
            *[await self._message_json(each, transcript, agent) for each in shown],
            *[{**await self._message_json(each, transcript, agent), "waits": True} for each in waiting],
        ]
        return {"messages": messages, "has_earlier": len(every) > SHOWN_OF_THE_PAST}

    async def conversation(self, agent: AgentId) -> Transcript:
        """Return the owner's own conversation with *agent*."""
        return await self.sessions.open(SessionKey(agent, SessionType.MAIN))

    async def _live_event(self, adapter: WebAdapter, each: PageEvent | Sign | ToolSign | str) -> bytes:
        match each:
            case Sign():
                return _sse(each.value, {}, None)
            case ToolSign():
                return _sse("tool", {"name": each.name}, None)
            case str():
                return _sse("draft", {"text": each, "html": await asyncio.to_thread(to_html, each)}, None)
        return await self._event(adapter, each)

    async def _event(self, adapter: WebAdapter, event: PageEvent) -> bytes:
        agent = AgentId(adapter.account)
        told = await self._message_json(event.told, await self.conversation(agent), agent)
        return _sse(event.told.kind, told, f"{adapter.epoch}-{event.number}")

    async def _message_json(self, told: PageMessage, transcript: Transcript, agent: AgentId) -> dict[str, object]:
        """Return a message as the page reads it.

        An answer includes its HTML, its buttons, the memories in view, and what its turn did, apart from the text.
        """
        shown = {"kind": told.kind.value, "text": told.text, "at": told.at.isoformat(), "turn": told.turn}
        if told.kind is PageEventKind.SAID:
            return {**shown}
        shown["text"], receipt = parted(told.text)
        records = transcript.records.of(TurnId(told.turn))
        replies = [each.at for each in records if isinstance(each.entry, ReplyEntry)]
        buttons = told.buttons
        if replies:  # given while no page was open, it is delivered later
            shown["at"] = replies[-1].isoformat()
            entries = [each.entry for each in records if isinstance(each.entry, Entry)]
            receipt = receipt or receipt_line(entries, terminal_access(agent), self.receipts)
            buttons = buttons or (self.offers.again(terminal_access(agent), entries) if self.offers else ())
        return {
            **shown,
            "html": await asyncio.to_thread(to_html, shown["text"]),
            "receipt": to_html(receipt.removeprefix(LEAD)),
            "files": [_file_json(each) for each in enclosed_by(records, agent)],
            "buttons": [asdict(button) for button in buttons],
            "sources": [memory.citation for memory in transcript.used_by(TurnId(told.turn))],
        }

    def _pages(self) -> list[WebAdapter]:
        """Return the page's channels of all agents."""
        found = (self.adapters.get((CHANNEL, agent)) for agent in self.entrance.agents)
        return [each for each in found if isinstance(each, WebAdapter)]

    def _adapter(self, agent: str) -> WebAdapter:
        if agent not in self.entrance.agents:
            raise HttpError(404, "there is no such agent here", param="agent")
        adapter = self.adapters.get((CHANNEL, agent))
        if not isinstance(adapter, WebAdapter):
            raise HttpError(503, "not accepted: the gateway is starting", SERVER, code=NOT_TAKEN)
        return adapter


class _PendingEvents:
    """The events that a stream has yet to send; of a growing draft only the newest text.

    A page that reads nothing any more is disconnected: when it returns it requests the events that it lacks.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._waiting: list[PageEvent | Sign | ToolSign | str] = []
        self._comes = asyncio.Event()

    def event(self, event: PageEvent | Sign | ToolSign | None) -> None:
        if event is None or len(self._waiting) >= WAITING_AT_MOST:
            self.is_over = True
        elif not self.is_over:
            self._waiting.append(event)
        self._comes.set()

    def look(self) -> None:
        """Wake the stream, which looks by itself at what changed."""
        self._comes.set()

    def draft(self, text: str) -> None:
        if self._waiting and isinstance(self._waiting[-1], str):
            self._waiting.pop()
        if not self.is_over:
            self._waiting.append(text)
        self._comes.set()

    async def something(self) -> None:
        """Return when there is an event, or no more will come."""
        await self._comes.wait()

    def taken(self) -> list[PageEvent | Sign | ToolSign | str]:
        """Remove and return the waiting events, in order."""
        taken, self._waiting = self._waiting, []
        self._comes.clear()
        return taken


def _file_json(file: Enclosure) -> dict[str, object]:
    return {"name": visible(file.name), "path": file.path, "size": file.size, "caption": to_html(file.caption)}


def _sse(event: str, data: Mapping[str, object], event_id: str | None) -> bytes:
    lines = [f"event: {event}", *([f"id: {event_id}"] if event_id else []), f"data: {json.dumps(data)}"]
    return ("\n".join(lines) + "\n\n").encode()
