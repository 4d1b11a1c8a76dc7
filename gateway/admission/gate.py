"""Admission control: accepts or refuses each message and handles refusals."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from msgspec import Struct

from adapters.channel import Attachment, ChatKind, InboundMessage, OverheardMessage, Via
from gateway.admission.claim import Claims
from gateway.admission.internal_channels import is_inner
from gateway.admission.pairing import OnAsked, Pairing, examine
from gateway.admission.policy import Admitted, DirectPolicy, Policy, RefusalReason, Refused
from gateway.admission.rate_limits import LoopGuard, Rates
from gateway.admission.routing import principal
from gateway.errors import StoreError
from gateway.stores.admission import Context, Silence
from gateway.stores.ports import Store
from gateway.stores.rows import OutboxRow, Outgoing

log = structlog.get_logger()

HEARD_CAP = 2_000
"""Characters kept of one overheard message. Our choice."""
_LONG_AGO = timedelta(minutes=5)
"""Older messages waited for us, not for their sender: after an outage a platform delivers them all at once."""
_WRITE_TO_US = {RefusalReason.UNPAIRED, RefusalReason.STRANGER, RefusalReason.UNCLAIMED}
"""Refusals of requests, which count against the rate of a person."""
_SLOWER = (
    "You are writing faster than I can follow. I have not read your last message and will not read others until you "
    "pause. Please wait a minute, then send again whatever matters."
)


class Newcomers(Struct, frozen=True):
    """Who takes care of people that are not known yet."""

    on_asked: OnAsked | None = None
    """Given if there is an owner to tell of strangers."""
    claims: Claims | None = None
    """Given if there are accounts without an owner."""
    on_new_group: Callable[[InboundMessage], Awaitable[None]] | None = None
    """Told of the owner's message to us in a group that is not allowed."""


NOBODY_NEW = Newcomers()


class AdmissionGate:
    """Decides by the policy, the current guests, and the recent rate of messages."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        rates: Rates,
        now: Callable[[], datetime],
        wake: Callable[[Sequence[OutboxRow]], None],
        newcomers: Newcomers = NOBODY_NEW,
    ) -> None:
        """*wake* is called with replies to deliver."""
        self._policy, self._store, self._rates, self._now, self._wake = policy, store, rates, now, wake
        self._loops = LoopGuard()
        self.claims = newcomers.claims
        self._on_new_group = newcomers.on_new_group
        self.pairing = Pairing(policy, store, now, wake, newcomers.on_asked)

    async def decide(self, message: InboundMessage) -> Admitted | Refused:
        """Decide whether *message* is admitted; it counts against its sender's rate. Raises StoreError."""
        if is_inner(message):  # no platform may impersonate the scheduler
            return Refused(RefusalReason.NO_POLICY)
        decision = await examine(message, self._policy, self._store.pairings)
        if not self._is_in_time(message, decision):
            return Refused(RefusalReason.RATE)
        group = self._policy.group(message.address) if message.kind is ChatKind.GROUP else None
        if group is None:
            return decision
        chat = str(replace(message.address, account=""))  # one count for all of our accounts in the chat
        is_agent = message.via is Via.AGENT
        if not (message.sender.is_bot or is_agent):
            self._loops.human(chat)
        elif isinstance(decision, Admitted):
            most = group.agents_talk if is_agent else group.bot_turns
            return decision if self._loops.bot(chat, most) else Refused(RefusalReason.LOOP_GUARD)
        return decision

    async def may_talk(self, message: InboundMessage) -> bool:
        """Say whether the sender of *message* may talk to us here; it counts against nobody's rate.

        While the store cannot even be read, only the owner may.
        """
        if is_inner(message):
            return False
        try:
            return isinstance(await examine(message, self._policy, self._store.pairings), Admitted)
        except StoreError:
            return self._policy.is_owner(message.address.channel, message.sender)

    async def turn_away(self, message: InboundMessage, decision: Refused) -> None:
        """Record that *message* gets no answer, with the reason, and act on the refusal. Raises StoreError."""
        log.info("refused", reason=decision.reason, channel=message.address.channel)
        silence = Silence(self._now(), message.address, principal(message), decision.reason)
        await asyncio.gather(
            self._store.count(f"refused.{decision.reason}"),
            self._store.silences.record(silence),
            self._follow_up(message, decision.reason),
        )

    async def context(self, message: InboundMessage) -> Context:
        """Return the messages of the chat of *message*, admitted, since we were last addressed. Raises StoreError."""
        group = self._policy.group(message.address) if message.kind is ChatKind.GROUP else None
        overhears = group is not None and group.heard and group.mention  # else every message there is for us
        if not overhears or message.text.startswith("/"):  # a command reads no context
            return Context()
        return await self._store.overheard.of(message.address)

    def _is_in_time(self, message: InboundMessage, decision: Admitted | Refused) -> bool:
        """Return whether its sender may write now.

        Messages without a request take no token, and the owner needs none.
        """
        if isinstance(decision, Refused) and decision.reason not in _WRITE_TO_US:
            return True
        address = message.address
        account = self._policy.accounts.get((address.channel, address.account))
        is_exempt = account is not None and account.direct is DirectPolicy.TOKEN
        if is_exempt or self._policy.is_owner(address.channel, message.sender):
            return True
        return self._rates.take(*self._bucket(message))

    def _bucket(self, message: InboundMessage) -> tuple[str, datetime]:
        """Return the bucket and the time of *message*: delayed messages arrive chat by chat, and count as of their
        sending."""
        if self._has_waited(message):
            return f"{_bucket_key(message)} waited in {message.address}", message.sent_at
        return _bucket_key(message), self._now()

    def _has_waited(self, message: InboundMessage) -> bool:
        """Return whether *message* arrives late by no fault of its sender; an edit has the time of its original."""
        return message.via is Via.TEXT and self._now() - message.sent_at > _LONG_AGO

    async def _follow_up(self, message: InboundMessage, reason: RefusalReason) -> None:
        match reason:
            case RefusalReason.UNPAIRED:
                await self.pairing.greet(message)
            case RefusalReason.UNCLAIMED if self.claims is not None:
                await self.claims.attempt(message)
            case RefusalReason.GROUP_NOT_ALLOWED if self._on_new_group is not None and self._is_owners_call(message):
                await self._on_new_group(message)
            case RefusalReason.NOT_FOR_US:
                await self._overhear(message)
            case RefusalReason.RATE if message.kind is ChatKind.DIRECT:
                await self._slow_down(message)

    def _is_owners_call(self, message: InboundMessage) -> bool:
        return message.is_for_us and self._policy.is_owner(message.address.channel, message.sender)

    async def _overhear(self, message: InboundMessage) -> None:
        group, text = self._policy.group(message.address), _words(message)
        if group is None or not group.heard or not text:
            return
        heard = OverheardMessage(message.sender.name, text[:HEARD_CAP], message.sent_at)
        await self._store.overheard.keep(message.address, message.reply_target, heard, group.heard)

    async def _slow_down(self, message: InboundMessage) -> None:
        """Tell a guest once that they write too fast; strangers are not notified."""
        decision = await examine(message, self._policy, self._store.pairings)
        if isinstance(decision, Refused) or not self._rates.should_tell(*self._bucket(message)):
            return
        if row := await self._store.notify(f"rate:{message.address}:{message.id}", Outgoing(message.address, _SLOWER)):
            self._wake([row])


def with_context(message: InboundMessage, context: Context) -> InboundMessage:
    """Return *message* with the preceding messages as context."""
    return replace(message, heard=context.heard) if context.heard else message


def _bucket_key(message: InboundMessage) -> str:
    """Return the bucket of a message; the anonymous senders of a chat share one."""
    return principal(message) if message.sender.id else str(message.address)


def _words(message: InboundMessage) -> str:
    """Return the visible part of *message*: its text, and the kinds of its files."""
    return "\n".join([*([message.text] if message.text.strip() else []), *map(_kind, message.attachments)])


def _kind(attachment: Attachment) -> str:
    return f"({attachment.kind})"
