"""This file lets people in: a stranger is told a code, the owner says whether whoever has it may come in."""

import asyncio
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.policy import Admitted, DirectPolicy, Policy, Refused, admit
from gateway.errors import PairingError
from gateway.runtime.escape import visible
from gateway.stores.door import Guest, PairingRequest, Pairings, Visitor
from gateway.stores.ports import Store
from gateway.stores.rows import OutboxRow, Outgoing

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 letters that nobody takes for one another, so that each is worth 5 bits."""
CODE_LENGTH = 10
CODE_LIFE = timedelta(hours=1)
"""How long a code counts, and until when its owner gets no other one."""
MOST_WAITING = 5
"""Requests at one account: more than an owner expects at a time. Our choice."""
HELD_FOR = timedelta(minutes=10)
"""How long a code is its owner's whoever else asks; after that it makes way where the most wait. Our choice."""
CHATS_KNOWN = 100
"""Chats of strangers that are remembered of each account: more than ask in three hours. Our choice."""
REFUSED_FOR = timedelta(days=7)
"""How long somebody who was refused is told no other code. Our choice."""
_TICK = "'"
"""Stands for a backtick in a name."""
_PERSON = re.compile(r"(?P<channel>[a-z]+):(?P<id>[0-9]+)")
_GREETING = (
    "Hello! I only talk with people who have been let in. If you know who runs this bot, give them this code:\n\n"
    "`{code}`\n\nIt is good for one hour."
)


def new_code() -> str:
    """Return a code of 50 random bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def shown(code: str) -> str:
    """Return *code* as people read it."""
    return f"{code[: CODE_LENGTH // 2]}-{code[CODE_LENGTH // 2 :]}"


def typed(code: str) -> str:
    """Return what *code* is as it was made, however it was typed."""
    return "".join(each for each in code.upper() if each.isalnum())


async def examine(message: InboundMessage, policy: Policy, pairings: Pairings) -> Admitted | Refused:
    """Decide whether *message* goes in, asking afresh whether its sender is a guest. Raises StoreError."""
    decision = admit(message, policy)
    if isinstance(decision, Admitted) or admit(message, policy, is_guest=True) == decision:
        return decision  # to be a guest would change nothing
    address = message.address
    is_guest = await pairings.is_guest(address.channel, address.account, message.sender.id)
    return admit(message, policy, is_guest=is_guest)


OnAsked = Callable[[InboundMessage, PairingRequest], Awaitable[None]]
"""Told of a stranger's message and of the request that was made of it; once for each. Raises StoreError."""


class Pairing:
    """Who asks to be let in, and what the owner says to that."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        now: Callable[[], datetime],
        wake: Callable[[Sequence[OutboxRow]], None],
        code: Callable[[], str] = new_code,
    ) -> None:
        """*wake* is told of replies to deliver."""
        self._policy, self._store, self._now, self._wake, self._code = policy, store, now, wake, code
        self.on_asked: OnAsked = _nobody
        """Set where there is an owner to be told."""
        self._one_by_one = asyncio.Lock()

    async def greet(self, message: InboundMessage) -> None:
        """Tell the sender of a direct *message* a code, unless they were told one. Raises StoreError."""
        address, sender, now, code = message.address, message.sender, self._now(), self._code()
        visitor = Visitor(address.channel, address.account, sender.id, " ".join(sender.name.split()))
        request = PairingRequest(visitor, code, now, now + CODE_LIFE)
        reply = Outgoing(address, _GREETING.format(code=shown(code)))
        if row := await self._store.pairings.ask(request, MOST_WAITING, reply, now - HELD_FOR):
            await self._remember_chat(visitor, address)
            self._wake([row])
            await self.on_asked(message, request)

    async def waiting(self) -> Sequence[PairingRequest]:
        """Return who waits, oldest first. Raises StoreError."""
        return await self._store.pairings.waiting()

    async def guests(self) -> Sequence[Guest]:
        """Return who was let in, oldest first. Raises StoreError."""
        return await self._store.pairings.guests()

    async def approve(self, whom: str) -> str:
        """Let in who was told the code *whom*, or the person `<channel>:<numeric id>`, and tell them.

        Return what was done in words. Raises PairingError, StoreError.
        """
        if person := _PERSON.fullmatch(whom.strip()):
            return await self._let_in(person["channel"], person["id"])
        if (guest := await self._store.pairings.approve(typed(whom))) is None:
            raise PairingError(_NOBODY)
        return await self._welcome(guest.visitor)

    async def _let_in(self, channel: str, person: str) -> str:
        """Let somebody in by number at every account that pairs there: no crowd of strangers can prevent that."""
        accounts = [
            account
            for (there, account), policy in self._policy.accounts.items()
            if there == channel and policy.direct is DirectPolicy.PAIRING
        ]
        if not accounts:
            raise PairingError(f'no bot on {channel} lets people in; direct = "pairing" below its table does')
        names = {each.visitor.person: each.visitor.name for each in await self.waiting()}
        told = []
        for account in accounts:
            visitor = Visitor(channel, account, person, names.get(f"{channel}:{person}", ""))
            await self._store.pairings.let_in(visitor)
            told.append(await self._welcome(visitor))
        return "; ".join(told)

    async def _welcome(self, visitor: Visitor) -> str:
        """Tell *visitor* in their own chat that they are in, if it is known; return what was done in words."""
        done = f"{named(visitor)} may now write to {visitor.channel}.{visitor.account} directly, as a guest"
        chats = await self._chats(visitor)
        if (chat := chats.get(visitor.id)) is None:
            return f"{done}; tell them, for I know no chat with them yet"
        key = f"let_in:{visitor.account}:{visitor.person}:{self._now().isoformat()}"
        where = Address(visitor.channel, visitor.account, chat)
        if row := await self._store.notify(key, Outgoing(where, _WELCOME)):
            self._wake([row])
        return f"{done}; I told them"

    async def _remember_chat(self, visitor: Visitor, address: Address) -> None:
        """Keep where *visitor* writes, of each account the latest: a person's number is not everywhere their chat's."""
        async with self._one_by_one:
            chats = await self._chats(visitor)
            chats.pop(visitor.id, None)
            kept = [*chats.items(), (visitor.id, address.chat)][-CHATS_KNOWN:]
            await self._store.put(_chats_key(visitor), json.dumps(dict(kept)))

    async def _chats(self, visitor: Visitor) -> dict[str, str]:
        kept: dict[str, str] = json.loads(await self._store.get(_chats_key(visitor)) or "{}")
        return kept

    async def refuse(self, code: str) -> str:
        """Tell who was told *code* nothing more; return what was done in words. Raises PairingError, StoreError."""
        visitor = await self._store.pairings.refuse(typed(code), self._now() + REFUSED_FOR)
        if visitor is None:
            raise PairingError(_NOBODY)
        return f"{named(visitor)} was refused, and gets no other code for {REFUSED_FOR.days} days"

    async def revoke(self, person: str) -> str:
        """Let *person*, `<channel>:<numeric id>`, in no more, and drop what they said that waits for its turn.

        Return what was done in words. Raises PairingError for somebody who is no guest, StoreError.
        """
        found = _PERSON.fullmatch(person.strip())
        if found is None:
            raise PairingError('say who, as "<channel>:<numeric id>", such as telegram:12345')
        gone = await self._store.pairings.revoke(found["channel"], found["id"])
        dropped = await self._purge(found["channel"], found["id"])
        if not gone:
            raise PairingError(f"{person.strip()} was not let in by a code; {_WHO_ELSE}")
        queued = f"; {dropped} waiting message{'' if dropped == 1 else 's'} dropped" if dropped else ""
        return f"{named(gone[0].visitor)} is no guest any more{queued}"

    async def _purge(self, channel: str, person: str) -> int:
        """Drop what that person said in direct chats and would not be admitted now; return how many messages."""
        dropped = 0
        for row in await self._store.inbox.waiting():
            said = row.message
            if (said.kind, said.address.channel, said.sender.id) != (ChatKind.DIRECT, channel, person):
                continue
            if isinstance(refusal := await examine(said, self._policy, self._store.pairings), Refused):
                await self._store.inbox.drop(row.id, f"revoked.{refusal.reason}")
                dropped += 1
        return dropped


async def _nobody(_: InboundMessage, __: PairingRequest) -> None:
    """Tell nobody: the owner asks by themselves."""


def named(visitor: Visitor) -> str:
    """Return who *visitor* is, as code: their own name first, then what cannot be made up.

    So nothing that strangers call themselves is a link in the owner's chat, ends the quotation, or turns what follows.
    """
    who = f"{visitor.name} ({visitor.person})" if visitor.name else visitor.person
    return f"`{visible(who).replace('`', _TICK)}`"


def _chats_key(visitor: Visitor) -> str:
    return f"pairing_chats:{visitor.channel}.{visitor.account}"


_WELCOME = "You have been let in: from now on I answer what you write here."
_NOBODY = (
    "nobody waits with that code: it was used, refused or mistyped, is older than an hour, or made way for others "
    "after ten minutes; somebody's number, such as telegram:12345, lets them in without a code"
)
_WHO_ELSE = "`people` in the configuration says who needs no code"
