"""Claims: a bot account without an owner belongs to the person who sends it the code that its terminal showed.

Only digests of codes are stored. Nobody else gets an answer.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

import structlog
from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.admission.pairing import CODE_LENGTH, describe_visitor, format_code, new_code, parse_code
from gateway.admission.rate_limits import Rates
from gateway.errors import ConfigError, StrandlineError
from gateway.stores.admission import Visitor
from gateway.stores.ports import Store
from gateway.stores.remembered import Moment, remember, remembered
from gateway.stores.rows import OutboxRow, Outgoing

log = structlog.get_logger()

CLAIMED = "claimed"
"""Counted for an account that got its owner by a code."""
WRONG_CLAIM = "claim_wrong"
"""Counted for a wrong code."""
CODE_FOR = timedelta(minutes=15)
CODES = 3
"""Valid codes of one account at a time; the oldest is dropped."""
TRIES_A_MINUTE = 5
"""Codes that one person may try at once, and then in each minute."""
ALL_TRIES_A_MINUTE = 30
"""The same for everybody together at one account. Our choices, all of these."""
_START = "/start "
"""Begins the message that Telegram sends for a link with a code in it."""

AccountKey = tuple[str, str]
"""Channel and name of an account."""
Own = Callable[[str], Awaitable[None]]
"""Makes a person, `<channel>:<id>`, the owner in the configuration. Raises ConfigError."""


class ClaimCode(Struct, frozen=True):
    """A code that was just made; it is not stored."""

    account: AccountKey
    code: str
    """Formatted for people."""
    until: datetime


class Claims:
    """The accounts without an owner, and their codes."""

    def __init__(
        self,
        accounts: Iterable[AccountKey],
        store: Store,
        now: Callable[[], datetime],
        own: Own,
        wake: Callable[[Sequence[OutboxRow]], None],
    ) -> None:
        """*wake* is called with replies to deliver."""
        self.accounts = frozenset(accounts)
        self._store, self._now, self._own, self._wake = store, now, own, wake
        self._rates = Rates(TRIES_A_MINUTE, TRIES_A_MINUTE, now)
        self._all = Rates(ALL_TRIES_A_MINUTE, ALL_TRIES_A_MINUTE, now)
        self._one_by_one = asyncio.Lock()

    async def issue(self, account: AccountKey) -> ClaimCode:
        """Return a new code for *account*, valid once, for a quarter of an hour.

        Raises StrandlineError for an account that has an owner, and StoreError.
        """
        if account not in self.accounts:
            raise StrandlineError(f"{account[0]}.{account[1]} has an owner, or is not in the configuration")
        code, until = new_code(), self._now() + CODE_FOR
        async with self._one_by_one:
            codes = {**await self._codes(account), _digest(code): until}
            await self._keep(account, dict([*codes.items()][-CODES:]))
        return ClaimCode(account, format_code(code), until)

    async def has_code(self, account: AccountKey) -> bool:
        """Return whether *account* has a valid code. Raises StoreError."""
        return bool(await self._codes(account))

    async def attempt(self, message: InboundMessage) -> bool:
        """Make the sender of a direct *message* the owner if it is a valid code, which is then used up with all others.

        Whatever else it is gets no answer. Return whether they are the owner now. Raises StoreError.
        """
        address, sender = message.address, message.sender
        account, code = (address.channel, address.account), _code_in(message.text)
        if account not in self.accounts or not code or not sender.id or sender.is_bot:
            return False
        if not (self._rates.take(f"{address.channel}:{sender.id}") and self._all.take(str(account))):
            return False
        async with self._one_by_one:
            wanted = _digest(code)
            known = [digest for digest in await self._codes(account) if hmac.compare_digest(digest, wanted)]
            if not known:
                await self._store.count(WRONG_CLAIM)
                return False
            await self._keep(account, {})
        await self._hand_over(message)
        return True

    async def _hand_over(self, message: InboundMessage) -> None:
        address, sender = message.address, message.sender
        person = f"{address.channel}:{sender.id}"
        try:
            await self._own(person)
        except ConfigError as exc:
            log.error("a claim could not be written", person=person, detail=str(exc))
            said = f'Your code is right, but it could not be written down: {exc}. Add "{person}" to `owner.people`.'
        else:
            await self._store.count(CLAIMED)
            said = _WELCOME.format(person=person)
        visitor = Visitor(address.channel, address.account, sender.id, " ".join(sender.name.split()))
        log.warning("an account got its owner", account=f"{address.channel}.{address.account}", person=person)
        key = f"claimed:{describe_visitor(visitor)}:{self._now().isoformat()}"
        if row := await self._store.notify(key, Outgoing(address, said)):
            self._wake([row])

    async def _codes(self, account: AccountKey) -> Mapping[str, datetime]:
        """Return the digests of valid codes, with the time until which each is."""
        known = await remembered(self._store, _key(account), dict[str, Moment]) or {}
        now = self._now()
        return {digest: until for digest, until in known.items() if until > now}

    async def _keep(self, account: AccountKey, codes: Mapping[str, datetime]) -> None:
        await remember(self._store, _key(account), codes)


def _code_in(text: str) -> str:
    """Return the code in *text*, if it is nothing else; empty if it is none."""
    code = parse_code(text.strip().removeprefix(_START)) if len(text) < 5 * CODE_LENGTH else ""
    return code if len(code) == CODE_LENGTH else ""


def _digest(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def _key(account: AccountKey) -> str:
    return f"claim:{account[0]}.{account[1]}"


_WELCOME = (
    "You are my owner now (`{person}`), and nobody else gets an answer here. Write /start to begin, or just say what "
    "you need."
)
