"""Translation of aiogram's errors into the contract's.

The original error is never chained to ours: its text may hold the token (aiohttp quotes URLs, and the token is part of
ours) or people's words (aiogram quotes a reply that it cannot parse).
"""

from dataclasses import dataclass, field
from typing import Any

from aiogram.exceptions import (
    ClientDecodeError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiohttp import ClientConnectorError

from adapters.channel import (
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    SendRefusedError,
    UnsureSendError,
)

CALL_FAULTS = (TelegramAPIError, ClientDecodeError, UnicodeDecodeError, TypeError)
"""Every error of a call through aiogram that is caused by the platform or the network.

UnicodeDecodeError means a page that is not text, TypeError a 5xx error without a description: aiogram 3.31 reads both
before checking them.
"""


def unread_result(fault: ClientDecodeError) -> Any:
    """Return the result of a call that succeeded at Telegram but that the SDK cannot parse; else `None`."""
    data = fault.data
    return data.get("result") if isinstance(data, dict) and data.get("ok") is True else None


@dataclass(frozen=True, slots=True)
class TelegramFaults:
    """Translation of errors for one account."""

    account: str
    token: str = field(repr=False)

    def of_call(self, fault: Exception) -> ChannelConfigError | ChannelUnavailableError:
        """Translate *fault* of a call that may be repeated freely."""
        match fault:
            case TelegramRetryAfter():
                return ChannelUnavailableError("Telegram asks us to wait", retry_after_s=float(fault.retry_after))
            case TelegramUnauthorizedError() | TelegramNotFound():
                return self.bad_token()
            case TelegramConflictError():
                return ChannelUnavailableError(
                    f"another program is polling the bot of [channels.telegram.{self.account}] (Telegram allows only "
                    "one): stop it, or give this account a bot of its own"
                )
            case TelegramNetworkError():
                return ChannelUnavailableError(f"Telegram cannot be reached ({type(fault.__cause__).__name__})")
            case TelegramAPIError():
                return ChannelUnavailableError(self._quoted_message(fault))
        return ChannelUnavailableError("Telegram's response cannot be read")

    def of_send(self, fault: Exception) -> ChannelError:
        """Translate *fault* of a send, which must not be repeated needlessly."""
        match fault:
            case TelegramMigrateToChat():
                return SendRefusedError(f"the group became a supergroup, whose id is {fault.migrate_to_chat_id}")
            case TelegramBadRequest() | TelegramForbiddenError() | TelegramEntityTooLarge():
                return SendRefusedError(self._quoted_message(fault))
        error = self.of_call(fault)
        return UnsureSendError(str(error)) if _may_have_arrived(fault) else error

    def bad_token(self) -> ChannelConfigError:
        """Return the error of an account whose token Telegram rejects."""
        return ChannelConfigError(
            f"Telegram rejects the bot token of [channels.telegram.{self.account}] (HTTP 401): copy it again from "
            f"@BotFather; strandline connect telegram --account {self.account} takes it"
        )

    def _quoted_message(self, fault: TelegramAPIError) -> str:
        return f"Telegram says: {fault.message or 'no reason'}".replace(self.token, "<token>")


def _may_have_arrived(fault: Exception) -> bool:
    """Tell whether Telegram may have accepted the message although the call failed.

    True if the request went out and no verdict came back. A 5xx error is no verdict: a proxy may have given up on a
    server that goes on to deliver. A refused connection is one; so is any other code.
    """
    match fault:
        case TelegramServerError() | ClientDecodeError() | UnicodeDecodeError() | TypeError():
            return True
        case TelegramNetworkError():
            return not isinstance(fault.__cause__, ClientConnectorError)
    return False
