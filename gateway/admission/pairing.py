"""Pairing: a stranger gets a code, and the owner decides whether its holder is admitted."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.policy import Admitted, DirectPolicy, Policy, Refused, admit
from gateway.errors import PairingError
from gateway.runtime.escape import visible
from gateway.stores.admission import Guest, PairingRequest, Pairings, Visitor
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered
from gateway.stores.rows import OutboxRow, Outgoing
from workspaces.lazy_pattern import lazy_pattern

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 letters that are not easily confused, so that each is worth 5 bits."""
CODE_LENGTH = 10
CODE_LIFE = timedelta(hours=1)
"""Lifetime of a code; its visitor gets no other one until then."""
MOST_WAITING = 5
"""Most requests at one account: more than an owner expects at a time. Our choice."""
HELD_FOR = timedelta(minutes=10)
"""Time that a code is protected from replacement, however many others ask. Our choice."""
CHATS_KNOWN = 100
"""Chats of strangers remembered for each account: more than ask in three hours. Our choice."""
REFUSED_FOR = timedelta(days=7)
"""Time that a refused person gets no other code. Our choice."""
_TICK = "'"
"""Replaces a backtick in a name."""
_PERSON = lazy_pattern(r"(?P<channel>[a-z][a-z0-9-]*):(?P<id>\S+)")
_GREETING = (
    "Hello! I only talk with people who have been approved. If you know who runs this bot, give them this code:\n\n"
    "`{code}`\n\n"
    "It is valid for one hour."
)


def new_code() -> str:
    """Return a code of 50 random bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def format_code(code: str) -> str:
    """Return *code* formatted for people."""
    return f"{code[: CODE_LENGTH // 2]}-{code[CODE_LENGTH // 2 :]}"


def parse_code(code: str) -> str:
    """Return the code in its original form, however it was typed."""
    return "".join(each for each in code.upper() if each.isalnum())


async def examine(message: InboundMessage, policy: Policy, pairings: Pairings) -> Admitted | Refused:
    """Decide whether *message* is admitted, checking anew whether its sender is a guest. Raises StoreError."""
    decision = admit(message, policy)
    if isinstance(decision, Admitted) or admit(message, policy, is_guest=True) == decision:
        return decision  # being a guest would change nothing
    address = message.address
    is_guest = await pairings.is_guest(address.channel, address.account, message.sender.id)
    return admit(message, policy, is_guest=is_guest)


OnAsked = Callable[[InboundMessage, PairingRequest], Awaitable[None]]
"""Called with a stranger's message and the resulting request, once for each. Raises StoreError."""


class Pairing:
    """Pairing requests, and the owner's decisions about them."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        now: Callable[[], datetime],
        wake: Callable[[Sequence[OutboxRow]], None],
        on_asked: OnAsked | None = None,
    ) -> None:
        """*wake* is called with replies to deliver; *on_asked* is given if there is an owner to notify."""
        self._policy, self._store, self._now, self._wake = policy, store, now, wake
        self._on_asked = on_asked
        self._one_by_one = asyncio.Lock()

    async def greet(self, message: InboundMessage) -> None:
        """Send a code to the sender of a direct *message*, unless they have one. Raises StoreError."""
        address, sender, now, code = message.address, message.sender, self._now(), new_code()
        visitor = Visitor(address.channel, address.account, sender.id, " ".join(sender.name.split()))
        request = PairingRequest(visitor, code, now, now + CODE_LIFE)
        reply = Outgoing(address, _GREETING.format(code=format_code(code)))
        if row := await self._store.pairings.ask(request, MOST_WAITING, reply, now - HELD_FOR):
            await self._remember_chat(visitor, address)
            self._wake([row])
            if self._on_asked is not None:
                await self._on_asked(message, request)

    async def waiting(self) -> Sequence[PairingRequest]:
        """Return the pairing requests, oldest first. Raises StoreError."""
        return await self._store.pairings.waiting()

    async def guests(self) -> Sequence[Guest]:
        """Return the guests, oldest first. Raises StoreError."""
        return await self._store.pairings.guests()

    async def approve(self, whom: str) -> str:
        """Admit the holder of the code *whom*, or the person `<channel>:<numeric id>`, and notify them.

        Return a description of the result. Raises PairingError, StoreError.
        """
        if person := _PERSON.fullmatch(whom.strip()):
            return await self._let_in(person["channel"], person["id"])
        if (guest := await self._store.pairings.approve(parse_code(whom))) is None:
            raise PairingError(_NOBODY)
        return await self._welcome(guest.visitor)

    async def _let_in(self, channel: str, person: str) -> str:
        """Admit a person by number at every account with pairing there: no crowd of strangers can prevent that."""
        accounts = [
            account
            for (there, account), policy in self._policy.accounts.items()
            if there == channel and policy.direct is DirectPolicy.PAIRING
        ]
        if not accounts:
            raise PairingError(f'no bot on {channel} offers pairing; set direct = "pairing" for the bot')
        names = {each.visitor.person: each.visitor.name for each in await self.waiting()}
        told = []
        for account in accounts:
            visitor = Visitor(channel, account, person, names.get(f"{channel}:{person}", ""))
            await self._store.pairings.let_in(visitor)
            told.append(await self._welcome(visitor))
        return "; ".join(told)

    async def _welcome(self, visitor: Visitor) -> str:
        """Notify *visitor* in their own chat, if it is known, that they are admitted.

        Return a description of the result.
        """
        done = f"{describe_visitor(visitor)} may now write to {visitor.channel}.{visitor.account} directly, as a guest"
        chats = await self._chats(visitor)
        if (chat := chats.get(visitor.id)) is None:
            return f"{done}; please tell them, because I have no chat with them yet"
        key = f"let_in:{visitor.account}:{visitor.person}:{self._now().isoformat()}"
        where = Address(visitor.channel, visitor.account, chat)
        if row := await self._store.notify(key, Outgoing(where, _WELCOME)):
            self._wake([row])
        return f"{done}; I have told them"

    async def _remember_chat(self, visitor: Visitor, address: Address) -> None:
        """Remember the chat of *visitor*, the latest of each account: not every platform uses a person's number for
        it."""
        async with self._one_by_one:
            chats = await self._chats(visitor)
            chats.pop(visitor.id, None)
            kept = [*chats.items(), (visitor.id, address.chat)][-CHATS_KNOWN:]
            await remember(self._store, _chats_key(visitor), dict(kept))

    async def _chats(self, visitor: Visitor) -> dict[str, str]:
        return await remembered(self._store, _chats_key(visitor), dict[str, str]) or {}

    async def refuse(self, code: str) -> str:
        """Silence the holder of *code*; return a description of the result. Raises PairingError, StoreError."""
        visitor = await self._store.pairings.refuse(parse_code(code), self._now() + REFUSED_FOR)
        if visitor is None:
            raise PairingError(_NOBODY)
        return f"{describe_visitor(visitor)} was refused, and gets no new code for {REFUSED_FOR.days} days"

    async def revoke(self, person: str) -> str:
        """Revoke the access of *person*, `<channel>:<numeric id>`, and drop their waiting messages.

        Return a description of the result. Raises PairingError for a person who is not a guest, StoreError.
        """
        found = _PERSON.fullmatch(person.strip())
        if found is None:
            raise PairingError('name the person as "<channel>:<numeric id>", such as telegram:12345')
        gone = await self._store.pairings.revoke(found["channel"], found["id"])
        dropped = await self._purge(found["channel"], found["id"])
        if not gone:
            raise PairingError(f"{person.strip()} was not approved by pairing; {_WHO_ELSE}")
        queued = f"; {dropped} waiting message{'' if dropped == 1 else 's'} dropped" if dropped else ""
        return f"{describe_visitor(gone[0].visitor)} is no longer a guest{queued}"

    async def _purge(self, channel: str, person: str) -> int:
        """Drop that person's direct messages that would not be admitted now; return their number."""
        dropped = 0
        for row in await self._store.inbox.waiting():
            said = row.message
            if (said.kind, said.address.channel, said.sender.id) != (ChatKind.DIRECT, channel, person):
                continue
            if isinstance(refusal := await examine(said, self._policy, self._store.pairings), Refused):
                await self._store.inbox.drop(row.id, f"revoked.{refusal.reason}")
                dropped += 1
        return dropped


def describe_visitor(visitor: Visitor) -> str:
    """Return the identity of *visitor*, as code: their own name first, then the platform's facts.

    So a stranger's name cannot be a link in the owner's chat, end the quotation, or reverse the text that follows.
    """
    who = f"{visitor.name} ({visitor.person})" if visitor.name else visitor.person
    return f"`{visible(who).replace('`', _TICK)}`"


def _chats_key(visitor: Visitor) -> str:
    return f"pairing_chats:{visitor.channel}.{visitor.account}"


_WELCOME = "You have been approved: from now on I answer your messages here."
_NOBODY = (
    "no pending request has that code: it was used, refused or mistyped, is older than an hour, or was displaced by "
    "newer requests after ten minutes; to approve somebody without a code, give their id, such as telegram:12345"
)
_WHO_ELSE = "`people` in the configuration lists those who need no code"
