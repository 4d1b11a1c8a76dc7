"""Mirrors the owner's conversation with an agent on other channels to the agent's page.

The owner's direct chats with an agent are one conversation, on whatever channel they are held. No other conversation
is read here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from adapters.channel import Adapter, InboundMessage
from adapters.web import CHANNEL, PageEventKind, PageMessage, WebAdapter
from gateway.admission.internal_channels import is_inner
from gateway.admission.routing import Routes, SessionKey, route
from gateway.agent.entries import HALTED, NO_REPLY, EnclosedEntry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.receipts import without_imitations
from gateway.agent.tools.notify import notified_texts
from gateway.approvals.approvals import Approvals
from gateway.inbound.edits import source_of
from gateway.inbound.outcomes import Outcome
from gateway.stores.ports import Inbox
from gateway.stores.rows import InboxRow
from gateway.transcripts.codec import Record
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId, SessionType


def page_messages(records: Sequence[Record]) -> Iterator[PageMessage]:
    """Yield the parts of a conversation that a page shows; of a job that ran in it, only the text given to `notify`."""
    jobs = {each.turn_id for each in records if isinstance(each.entry, UserEntry) and _is_unasked(each.entry)}
    sending = {each.turn_id for each in records if isinstance(each.entry, EnclosedEntry)}
    for record in records:
        if record.turn_id not in jobs:
            if (each := page_message(record, sends_files=record.turn_id in sending)) is not None:
                yield each
        elif isinstance(record.entry, ReplyEntry) and not record.entry.calls:
            turn = (each.entry for each in records if each.turn_id == record.turn_id)
            if said := notified_texts([each for each in turn if isinstance(each, ReplyEntry | ResultEntry)]):
                yield PageMessage(PageEventKind.ANSWER, said, record.at, record.turn_id)


def _is_unasked(said: UserEntry) -> bool:
    """Return whether the scheduler *said* it; a subagent's result, also ours, contains words from outside."""
    return said.is_ours and not said.from_outside


def page_message(record: Record, *, sends_files: bool = False) -> PageMessage | None:
    """Return the page's view of *record*; `None` for internal records, steps before an answer, and silence.

    A silent turn that *sends_files* has an empty answer, below which they stand.
    """
    match record.entry:
        case UserEntry(text=text, source=source, is_ours=False):
            return PageMessage(PageEventKind.SAID, text, record.at, source or record.turn_id)
        case ReplyEntry(text=text, calls=(), model=model) if model != HALTED:
            is_silent = text.strip().upper() in {"", NO_REPLY}
            shown = "" if is_silent else without_imitations(text)
            silent = is_silent and not sends_files
            return None if silent else PageMessage(PageEventKind.ANSWER, shown, record.at, record.turn_id)
    return None


def show_said(page: WebAdapter, message: InboundMessage) -> None:
    page.tell(PageMessage(PageEventKind.SAID, _said_text(message), message.sent_at, source_of(message)))


def _said_text(message: InboundMessage) -> str:
    """Return the text of a message that has no record yet, with a line for each file."""
    files = (f"[{each.kind}: {each.name}]" if each.name else f"[{each.kind}]" for each in message.attachments)
    return "\n".join(filter(None, [message.text, *files]))


class WaitingMessages(Struct, frozen=True):
    """Messages that wait: the owner's for an answer, and requests for the owner's decision."""

    inbox: Inbox
    routes: Routes
    approvals: Approvals

    async def of(self, agent: AgentId) -> list[PageMessage]:
        """Return the owner's to *agent*, oldest first, of every channel whose conversation its page shows."""
        key = SessionKey(agent, SessionType.MAIN)
        rows = [row for row in await self.inbox.waiting() if route(row.message, self.routes).key == key]
        return [
            PageMessage(PageEventKind.SAID, _said_text(row.message), row.message.sent_at, source_of(row.message))
            for row in rows
            if not is_inner(row.message)
        ]

    async def ask(self, adapter: WebAdapter) -> frozenset[str]:
        """Show the requests that wait for a decision, of whatever chat; return the ids of their notices."""
        waiting = {each.notice: each for each in await self.approvals.waiting(AgentId(adapter.account))}
        known = {each.turn for each in adapter.recent}
        for notice, change in waiting.items():
            if notice not in known:
                asked = await self.approvals.request(change, adapter.address)
                told = PageMessage(PageEventKind.ANSWER, asked.text, change.created_at, notice, asked.buttons)
                adapter.tell(told)
        return frozenset(waiting)


class PageMirror(Struct, frozen=True):
    """Follows the owner's conversation with one agent, for its page."""

    agent: AgentId
    routes: Routes
    adapters: Mapping[tuple[str, str], Adapter]
    """Loaded adapters, by channel and account."""
    now: Callable[[], datetime]

    def begin(self, sessions: Sessions) -> None:
        """Follow new records from now on."""
        sessions.follow(self._key, self.written)

    def written(self, records: Sequence[Record]) -> None:
        """Show the owner's messages; those from the page itself are there already."""
        for each in map(page_message, records):
            if each is not None and each.kind is PageEventKind.SAID:
                self._tell(each)

    def committed(self, row: InboxRow, replies: Outcome) -> None:
        """Show answers of other chats; delivery brings those to the page itself."""
        if route(row.message, self.routes).key != self._key:
            return
        for reply in replies:
            to = reply.outgoing.address
            has_content = reply.outgoing.text.strip() or reply.outgoing.files
            if has_content and (to.channel, to.account) != (CHANNEL, self.agent):
                self._tell(PageMessage(PageEventKind.ANSWER, reply.outgoing.text, self.now(), reply.turn_id))

    @property
    def _key(self) -> SessionKey:
        return SessionKey(self.agent, SessionType.MAIN)

    def _tell(self, each: PageMessage) -> None:
        page = self.adapters.get((CHANNEL, self.agent))
        if isinstance(page, WebAdapter):
            page.tell(each)
