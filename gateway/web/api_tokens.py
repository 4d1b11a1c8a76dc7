"""API tokens and their holders."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from hashlib import sha256

from msgspec import Struct

from gateway.config import WebSettings
from gateway.errors import ConfigError
from gateway.web.errors import AUTHENTICATION, PERMISSION, HttpError

LEAST_CHARACTERS = 24
"""Least length of a token: 24 characters of an alphabet of 64 are 144 bits, which nobody guesses; our choice."""


class TokenHolder(Struct, frozen=True):
    """A client that may send requests over HTTP."""

    name: str
    """Name of the token: the channel's account."""
    agents: tuple[str, ...]
    """Agents that they may talk to, including those that other gateways run."""
    chats_a_day: int | None = None
    """Conversations that they may hold in a day; `None` for the owner, whose chats are all one conversation."""


class ChatsOfToday:
    """Limits the conversations that a token holds in a day: each has a transcript, notes and an index of its own."""

    def __init__(self, today: Callable[[], date]) -> None:
        self._today = today
        self._day = today()
        self._chats: dict[str, set[tuple[str, str]]] = {}

    def check(self, holder: TokenHolder, agent: str, chat: str) -> None:
        """Count the *chat* with *agent*, unless it was counted today. Raises HttpError 429 above the limit."""
        if self._day != self._today():
            self._day, self._chats = self._today(), {}
        chats = self._chats.setdefault(holder.name, set())
        if holder.chats_a_day is None or (agent, chat) in chats:
            return
        if len(chats) >= holder.chats_a_day:
            said = (
                f"this token has reached its limit of {holder.chats_a_day} conversations today; continue one of them, "
                f"or wait until tomorrow (web.tokens.{holder.name}.chats_a_day)"
            )
            raise HttpError(429, said, PERMISSION, code="too_many_chats")
        chats.add((agent, chat))


class ApiTokens:
    """All holders of tokens, compared by digest, so that the duration of a comparison reveals nothing."""

    def __init__(self, by_token: Iterable[tuple[str, TokenHolder]]) -> None:
        self._by_digest = {_digest(token): holder for token, holder in by_token}

    @classmethod
    def of(cls, web: WebSettings, agents: Iterable[str], environ: Mapping[str, str]) -> "ApiTokens":
        """Read the tokens of *web*; the owner's open all *agents*. Raises ConfigError for a missing one."""
        every, pairs = tuple(agents), []
        for name, settings in web.tokens.items():
            source = settings.token(name)
            token = source.read(environ)
            if len(token) < LEAST_CHARACTERS:
                raise ConfigError(f"{source.key}: a token has {LEAST_CHARACTERS} characters or more")
            guest = TokenHolder(name, settings.agents, settings.chats_a_day)
            pairs.append((token, TokenHolder(name, every) if settings.owner else guest))
        if len({token for token, _ in pairs}) < len(pairs):
            raise ConfigError("web.tokens: two of them are the same; each needs its own")
        return cls(pairs)

    def of_header(self, authorization: str) -> TokenHolder:
        """Return the holder of the bearer token in *authorization*. Raises HttpError 401."""
        scheme, _, token = authorization.partition(" ")
        holder = self._by_digest.get(_digest(token.strip()))
        if scheme.lower() != "bearer" or holder is None:
            raise HttpError(401, "needs a token of [web.tokens]", AUTHENTICATION, code="invalid_api_key")
        return holder


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
