"""Sign-in of the owner's browsers: by a single-use code, then by a session that can be revoked.

Neither codes nor session secrets are stored, only their digests.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256

from gateway.errors import StrandlineError
from gateway.stores.ports import Store
from gateway.stores.remembered import Moment, remember, remembered

STORED_AS = "web:sign_in"
CODE_FOR = timedelta(minutes=10)
CODES = 3
"""Valid codes at the same time; older ones are dropped."""
SESSION_FOR = timedelta(days=30)
SESSIONS = 20
"""Signed-in browsers at the same time; the oldest is signed out."""
WRONG_AT_MOST = 5
"""Wrong codes within a minute; further attempts are rejected unchecked. Our choices, all of these."""
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
"""Without letters that look alike."""
_LENGTH = 10
"""30 letters to the power of 10 are 49 bits."""


class TooManyTriesError(StrandlineError):
    """Wrong codes came too fast."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    digest: str
    since: Moment
    until: Moment

    @property
    def id(self) -> str:
        """The owner's name for it; useless for signing in."""
        return self.digest[:8]


@dataclass(frozen=True, slots=True)
class _IssuedCode:
    digest: str
    until: Moment


@dataclass(frozen=True, slots=True)
class _StoredCodes:
    codes: tuple[_IssuedCode, ...] = ()
    sessions: tuple[SignedIn, ...] = field(default=())

    def at(self, now: datetime) -> "_StoredCodes":
        """Return the codes and sessions that are still valid."""
        codes = tuple(code for code in self.codes if code.until > now)
        return _StoredCodes(codes, tuple(session for session in self.sessions if session.until > now))


class SignIns:
    """Codes and sessions of the owner's browsers."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._one_by_one = asyncio.Lock()
        self._tries: deque[datetime] = deque(maxlen=WRONG_AT_MOST)
        """Wrong codes, and those being checked."""

    async def code(self) -> str:
        """Return a new code, in two halves to be typed; valid once, for ten minutes. Raises StoreError."""
        code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        async with self._one_by_one:
            kept = await self._load_codes()
            codes = (*kept.codes, _IssuedCode(_digest(code), self._now() + CODE_FOR))[-CODES:]
            await self._keep(replace(kept, codes=codes))
        return f"{code[:5]}-{code[5:]}"

    async def enter(self, code: str) -> str | None:
        """Return the secret of a new session for a valid *code*, which is then used up. Letter case does not matter.

        Raises TooManyTriesError, whatever the code, after too many wrong ones, and StoreError.
        """
        now = self._now()
        if len(self._tries) == WRONG_AT_MOST and now - self._tries[0] < timedelta(minutes=1):
            raise TooManyTriesError("too many wrong codes; wait a minute")
        self._tries.append(now)  # before it is looked at: of many at once, only the first few are
        digest = _digest("".join(code.upper().split()).replace("-", ""))
        async with self._one_by_one:
            kept = await self._load_codes()
            rest = tuple(each for each in kept.codes if each.digest != digest)
            if len(rest) == len(kept.codes):
                return None
            secret = secrets.token_urlsafe(32)
            fresh = SignedIn(_digest(secret), now, now + SESSION_FOR)
            await self._keep(_StoredCodes(rest, (*kept.sessions, fresh)[-SESSIONS:]))
        if now in self._tries:
            self._tries.remove(now)
        return secret

    async def session(self, secret: str) -> SignedIn | None:
        """Return the session of *secret*, `None` if it is over or never existed. Raises StoreError."""
        digest = _digest(secret)
        return next((each for each in await self.sessions() if each.digest == digest), None)

    async def sessions(self) -> tuple[SignedIn, ...]:
        """Return the signed-in browsers, oldest first. Raises StoreError."""
        return (await self._load_codes()).sessions

    async def revoke(self, session: str | None) -> int:
        """Sign out the browser with that id, or all of them; return their number. Raises StoreError."""
        async with self._one_by_one:
            kept = await self._load_codes()
            rest = tuple(each for each in kept.sessions if session is not None and each.id != session)
            await self._keep(replace(kept, sessions=rest))
        return len(kept.sessions) - len(rest)

    async def _load_codes(self) -> _StoredCodes:
        return (await remembered(self._store, STORED_AS, _StoredCodes) or _StoredCodes()).at(self._now())

    async def _keep(self, kept: _StoredCodes) -> None:
        await remember(self._store, STORED_AS, kept)


def csrf_token(secret: str) -> str:
    """Return the token that a page sends beside its cookie: its holder could read our pages, which other origins
    cannot."""
    return _digest(f"csrf\0{secret}")[:32]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
