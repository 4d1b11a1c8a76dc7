"""Decides how a message is handled that arrives while another one waits or is answered."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import MappingProxyType

from msgspec import Struct, field, structs

from adapters.channel import InboundMessage, Via
from gateway.admission.routing import SessionKey
from gateway.agent.cancellation import Halt
from gateway.inbound.edits import as_edited
from gateway.inbound.settings import QueueMode, QueueSettings
from gateway.inbound.turn_mark import answered_command
from gateway.runtime.bounded_dict import BoundedDict
from gateway.runtime.clock import utc_now
from gateway.runtime.queues import Queues
from gateway.sessions.due import DueSession
from gateway.stores.rows import InboxId, InboxRow
from workspaces.access import AgentId

Item = InboxRow | DueSession
"""An item of a session's lane."""
STOPS_KEPT = 1_000
"""Sessions whose last `/stop` is remembered; older ones had their answer long ago."""


class Stopped(Struct, frozen=True):
    """The effects of a `/stop`."""

    by: InboxId
    """Its message: earlier ones are stopped."""
    turn: bool = False
    """Whether a turn had begun."""
    cleared: int = 0
    """Number of messages that waited behind it."""
    helpers: int = 0
    """Number of subagents working for the session."""


def belongs(first: InboundMessage, later: InboundMessage) -> bool:
    """Return whether one turn may answer both: from the same sender in the same place, and no commands.

    So the turn's access, derived from the first, applies to the other too.
    """
    is_same = first.address == later.address and first.kind is later.kind
    is_theirs = first.sender.id == later.sender.id and bool(first.sender.id)
    return is_same and is_theirs and _is_plain(first) and _is_plain(later)


def _is_plain(message: InboundMessage) -> bool:
    is_command = message.text.lstrip().startswith("/") or answered_command(message) is not None
    return message.via is Via.TEXT and not is_command


class Current(Struct):
    """The running turn of a session's lane."""

    row: InboxRow
    mode: QueueMode
    halt: Halt = field(default_factory=Halt)
    take: Callable[[Collection[str], bool], list[InboxRow]] = lambda _known, _more: []
    """Takes waiting messages into the turn, in their latest version: those whose ids are its own, and more if so
    requested.
    """
    is_overtaken: Callable[[], bool] = lambda: False
    """Returns whether a waiting message interrupts the turn."""

    @property
    def why_halted(self) -> str:
        """Return the reason code for the ledger."""
        return "stopped" if self.halt.now.is_set() else "interrupted"


class Queueing:
    """Knows the running turn of each lane and the messages behind it; called in the lane, or beside it where noted."""

    def __init__(
        self,
        settings: QueueSettings | None = None,
        queues: Queues[SessionKey, Item] | None = None,
        chosen: Callable[[SessionKey], QueueMode | None] = lambda _: None,
        now: Callable[[], datetime] = utc_now,
        of_agents: Mapping[AgentId, QueueMode] = MappingProxyType({}),
    ) -> None:
        """*chosen* returns the mode chosen for a session, if any; *of_agents* has the agents' own modes."""
        self.settings = settings or QueueSettings()
        self._of_agents = of_agents
        self._debounce = timedelta(milliseconds=self.settings.debounce_ms)
        self.queues: Queues[SessionKey, Item] = queues or Queues()
        self._chosen = chosen
        self._now = now
        self._running: dict[SessionKey, Current] = {}
        self._stops: BoundedDict[SessionKey, Stopped] = BoundedDict(STOPS_KEPT)

    def mode(self, key: SessionKey) -> QueueMode:
        return self._chosen(key) or self._of_agents.get(key.agent, self.settings.mode)

    # --- beside the lane, as messages arrive

    def arrived(self, key: SessionKey, row: InboxRow) -> None:
        """Interrupt the running turn, if the mode of *row* requires it."""
        current = self._running.get(key)
        if current is None or self.mode(key) is not QueueMode.INTERRUPT or row.id <= current.row.id:
            return
        if belongs(current.row.message, row.message):
            current.halt.after_tool()

    def stop(self, key: SessionKey, by: InboxId, helpers: int = 0) -> None:
        """Cancel the running turn, and all messages before the message *by*, at once; a repetition has no effect.

        *helpers* is the number of the session's subagents cancelled with it.
        """
        last = self._stops.get(key)
        if last is not None and last.by >= by:
            return
        self._stops[key] = Stopped(by, helpers=helpers)
        current = self._running.get(key)
        if current is not None and current.row.id < by:
            current.halt.at_once()
        self.queues.wake(key)

    def stopped(self, key: SessionKey, by: InboxId) -> Stopped:
        """Return the effects of the `/stop` in the message *by*."""
        found = self._stops.get(key)
        return found if found is not None and found.by == by else Stopped(by)

    # --- in the lane

    def is_stopped(self, key: SessionKey, row: InboxRow) -> bool:
        """Return whether a later message stops *row*."""
        found = self._stops.get(key)
        return found is not None and row.id < found.by

    def clear(self, key: SessionKey, row: InboxRow) -> list[InboxRow]:
        """Take *row*, which is stopped, and all stopped messages behind it."""

        def fits(item: Item) -> bool:
            return isinstance(item, InboxRow) and self.is_stopped(key, item)

        rows = [row, *(item for item in self.queues.join(key, fits) if isinstance(item, InboxRow))]
        self._stops[key] = structs.replace(self._stops[key], cleared=self._stops[key].cleared + len(rows))
        return rows

    def pause_s(self, key: SessionKey, row: InboxRow) -> float:
        """Return how many seconds *row* waits for further messages from its sender."""
        if not self._debounce or not _is_plain(row.message) or self.is_stopped(key, row):
            return 0
        last, count = row, 1
        for item in self.queues.behind(key):
            if item is row:
                continue
            if not (isinstance(item, InboxRow) and self._is_quick(last, item)):
                return 0
            last, count = item, count + 1
        left = self._debounce - (self._now() - last.received_at)
        return max(left.total_seconds(), 0) if count < self.settings.together else 0

    @contextmanager
    def running(self, key: SessionKey, row: InboxRow) -> Iterator[Current]:
        """Yield the turn of *row*, which runs until the block ends."""
        current = Current(row, self.mode(key))
        last, count = row, 1

        def take(known: Collection[str], more: bool) -> list[InboxRow]:
            def fits(item: Item) -> bool:
                nonlocal last, count
                if not isinstance(item, InboxRow):
                    return False
                is_new = more and count < self.settings.together and belongs(row.message, item.message)
                is_late = current.mode is QueueMode.FOLLOW_UP and not self._is_quick(last, item)
                if str(item.id) not in known and (not is_new or is_late):
                    return False
                last, count = item, count + 1
                return True

            joined = [item for item in self.queues.join(key, fits) if isinstance(item, InboxRow)]
            return [as_edited(each, self.queues.behind(key)) for each in joined]

        def is_overtaken() -> bool:
            after = next(self.queues.behind(key), None)
            is_theirs = isinstance(after, InboxRow) and belongs(row.message, after.message)
            return current.mode is QueueMode.INTERRUPT and is_theirs

        current.take, current.is_overtaken = take, is_overtaken
        if self.is_stopped(key, row):
            current.halt.at_once()
        self._running[key] = current
        try:
            yield current
        finally:
            del self._running[key]
            if current.halt.now.is_set() and key in self._stops:
                self._stops[key] = structs.replace(self._stops[key], turn=True)

    def is_running(self, key: SessionKey) -> bool:
        """Return whether a turn of the session runs."""
        return key in self._running

    def answered(self, key: SessionKey, row: InboxRow) -> list[InboxRow]:
        """Return *row* and the messages that its turn has taken in."""
        others = (item for item in self.queues.in_hand(key) if isinstance(item, InboxRow) and item.id != row.id)
        return [row, *others]

    def _is_quick(self, first: InboxRow, later: InboxRow) -> bool:
        is_close = bool(self._debounce) and later.received_at - first.received_at <= self._debounce
        return is_close and belongs(first.message, later.message)
