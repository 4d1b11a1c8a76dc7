"""Translation of discord.py's errors into the contract's.

The original error is never chained to ours: its text may hold a foreign page or people's words.
"""

from dataclasses import dataclass, field

from aiohttp import ClientConnectorError, ClientError
from discord import ConnectionClosed, DiscordException, HTTPException, LoginFailure, RateLimited

from adapters.channel import (
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    SendRefusedError,
    UnsureSendError,
)

CALL_FAULTS = (DiscordException, ClientError, OSError, TypeError, KeyError, ValueError)
"""Every error of a call through discord.py that is caused by the platform or the network.

aiohttp's errors pass through it unchanged; TypeError, KeyError and ValueError mean an answer of unexpected shape, which
the SDK reads unchecked.
"""

_PLATFORM_SAYS_NO = frozenset({400, 403, 404, 413})
_HINTS = {
    10003: "the channel was deleted, or the bot was removed from its server",
    40005: "Discord accepts files of at most 10 MB",
    50001: "give the bot permission to view this channel",
    50007: "this person does not accept direct messages from the bot",
    50013: "give the bot permission to send messages in this channel (in a thread: in threads), to attach files there "
    "and to read its history",
    50083: "the thread is archived and locked: reopen it, or give the bot permission to manage threads",
    160002: "give the bot permission to read this channel's history",
    160005: "the thread is locked: unlock it, or give the bot permission to manage threads",
}
"""Fixes for Discord's error codes."""
_SLOW_DOWN = frozenset({20016, 20028, 20029})
"""Slow mode of a channel, and rate limits for writing into a channel and a server."""


@dataclass(frozen=True, slots=True)
class DiscordFaults:
    """Translation of errors for one account."""

    account: str
    token: str = field(repr=False)

    def of_call(self, fault: Exception) -> ChannelConfigError | ChannelUnavailableError:
        """Translate *fault* of a call that may be repeated freely."""
        match fault:
            case LoginFailure() | HTTPException(status=401) | ConnectionClosed(code=4004):
                return self.bad_token()
            case ConnectionClosed(code=4014):
                return self.missing_intent()
            case RateLimited():
                return ChannelUnavailableError("Discord asks us to wait", retry_after_s=fault.retry_after)
            case HTTPException() if fault.status == 429 or fault.code in _SLOW_DOWN:
                return ChannelUnavailableError("Discord asks us to wait", retry_after_s=_retry_after_s(fault))
        return ChannelUnavailableError(self._description(fault))

    def of_send(self, fault: Exception) -> ChannelError:
        """Translate *fault* of a send, whose outcome must be known or reported as unsure."""
        if isinstance(fault, HTTPException) and fault.status in _PLATFORM_SAYS_NO and fault.code not in _SLOW_DOWN:
            return SendRefusedError(self._quoted_message(fault))
        error = self.of_call(fault)
        return UnsureSendError(str(error)) if _may_have_arrived(fault) else error

    def bad_token(self) -> ChannelConfigError:
        """Return the error of an account whose token Discord rejects."""
        return ChannelConfigError(
            f"Discord rejects the bot token of [channels.discord.{self.account}] (HTTP 401): reset it in the Developer "
            f"Portal, under Bot, and copy it again; strandline connect discord --account {self.account} takes it"
        )

    def missing_intent(self) -> ChannelConfigError:
        """Return the error of a bot that may not read message content."""
        return ChannelConfigError(
            f"the bot of [channels.discord.{self.account}] may not read messages: in the Developer Portal, under Bot, "
            "turn on MESSAGE CONTENT INTENT, then restart"
        )

    def _description(self, fault: Exception) -> str:
        match fault:
            case ConnectionClosed():
                return f"Discord closed the connection (code {fault.code})"
            case HTTPException():
                return self._quoted_message(fault)
            case ClientError() | OSError():
                return f"Discord cannot be reached ({type(fault).__name__})"
        return "Discord's response cannot be read"

    def _quoted_message(self, fault: HTTPException) -> str:
        """Quote Discord's own message, which comes with a code; a page from an intermediate proxy has none."""
        if not fault.code:
            return f"Discord responds with status {fault.status}"
        words = " ".join(fault.text.split())[:200].replace(self.token, "<token>")
        hint = _HINTS.get(fault.code)
        return f"Discord says: {words} ({fault.code})" + (f": {hint}" if hint else "")


def _retry_after_s(fault: HTTPException) -> float | None:
    try:
        return float(fault.response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None


def _may_have_arrived(fault: Exception) -> bool:
    """Tell whether Discord may have accepted the message although the call failed.

    True if the request went out and no verdict came back; a 5xx error is no verdict, a refused connection is one.
    """
    match fault:
        case HTTPException():
            return fault.status >= 500
        case DiscordException() | ClientConnectorError():
            return False
    return True
