"""Postponement of a message whose turn failed for now: its sender is told once, and it is tried for a day."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from msgspec import Struct, structs

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import is_heartbeat, is_inner
from gateway.admission.routing import Envelope
from gateway.automation.job_runner import is_reminder
from gateway.errors import ModelError, StoreError
from gateway.runtime.lanes import RetryLater
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, OutboxRow, Outgoing
from gateway.turns.apology import apology

log = structlog.get_logger()

GIVE_UP_AFTER = timedelta(hours=24)
"""How long a message waits for an unavailable model before its sender is asked to try again."""
FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 600.0
_LATER = "My language model gives no answer now; what it makes of this follows as soon as it is back."


class WaitingTurn(Protocol):
    """The turn of a message that waits."""

    async def give_up(self) -> None:
        """Commit the sentence for a message that could not be answered in time. Raises StoreError."""

    async def reminder(self) -> str:
        """Return the words of the job that began the turn, if they are due to its owner. Raises StoreError."""


class Postponement(Struct, frozen=True):
    """Has messages wait for another attempt."""

    store: Store
    clock: Callable[[], datetime]
    outcome: Callable[[InboxRow, list[OutboxRow]], None]
    """Called with the notice that a message must wait."""
    postponed: Callable[[InboxRow, str, bool], None] = lambda *_: None
    """Called with each message that must wait, the reason as a sentence, and whether commands may pass it.

    Once for each failed attempt.
    """
    unstored: Callable[[InboundMessage, StoreError], Awaitable[None]] | None = None
    """Told of a message whose answer, and even the notice that it must wait, cannot be stored."""

    async def postpone(
        self, row: InboxRow, envelope: Envelope, exc: Exception, opened: Callable[[], Awaitable[WaitingTurn]]
    ) -> RetryLater | None:
        """Postpone the message and notify its sender once; after a day give up with a plain sentence.

        The attempt may have failed because its session could not be opened, so its turn is *opened* only when needed.
        """
        log.warning("turn postponed", why=type(exc).__name__, detail=str(exc))
        waited, reason = self.clock() - row.received_at, apology(exc, envelope)
        delay_s = min(LONGEST_RETRY_S, max(FIRST_RETRY_S, waited.total_seconds()))
        later = RetryLater(delay_s, lets_pass=isinstance(exc, ModelError))
        try:
            if waited >= _patience(row.message):
                await self.store.count("gave_up")
                await (await opened()).give_up()
                return None
            await self.store.count(f"postponed.{type(exc).__name__}")
            if is_inner(row.message):  # nobody waits for an answer
                await self._remind(row, await opened())
                return later
            notice = await self.store.notify(f"postponed:{row.turn_id}", Outgoing.answering(row.message, reason))
        except StoreError as trouble:
            log.error("the store cannot be written", detail=str(trouble))
            later = structs.replace(later, lets_pass=False)
            self.postponed(row, reason, later.lets_pass)
            if self.unstored is not None and not is_inner(row.message):
                await self.unstored(row.message, trouble)
            return later
        self.outcome(row, [notice] if notice else [])
        self.postponed(row, reason, later.lets_pass)
        return later

    async def _remind(self, row: InboxRow, turn: WaitingTurn) -> None:
        """Send the words of a job that runs once and waits for its model, once. Raises StoreError."""
        reminder = await turn.reminder()
        said = Outgoing.answering(row.message, f"{reminder}\n\n{_LATER}")
        if reminder and (notice := await self.store.notify(f"postponed:{row.turn_id}", said)):
            self.outcome(row, [notice])


def _patience(message: InboundMessage) -> timedelta:
    if is_heartbeat(message) or is_reminder(message):  # the next one comes anyway; a reminder is due now
        return timedelta(0)
    return timedelta(seconds=message.allowance.seconds) if message.allowance else GIVE_UP_AFTER
