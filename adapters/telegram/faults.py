"""This file turns aiogram's errors into the contract's.

What was raised is never chained to what we raise: its text may hold the token (aiohttp quotes URLs, and the token is
part of ours) or people's words (aiogram quotes a reply that it cannot read).
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
"""All that a call through aiogram raises when the platform or the way to it is at fault.

UnicodeDecodeError stands for a page that is no text, TypeError for an error 5xx without a description: aiogram 3.31
looks into both before it looks whether they can be looked into.
"""


def unread_result(fault: ClientDecodeError) -> Any:
    """Return the result of a call that Telegram says it did, though the SDK cannot read the result; else `None`."""
    data = fault.data
    return data.get("result") if isinstance(data, dict) and data.get("ok") is True else None


@dataclass(frozen=True, slots=True)
class Faults:
    """What errors mean for one account."""

    account: str
    token: str = field(repr=False)

    def of_call(self, fault: Exception) -> ChannelConfigError | ChannelUnavailableError:
        """Return what *fault* means for a call that may be made again at will."""
        match fault:
            case TelegramRetryAfter():
                return ChannelUnavailableError("Telegram asks to wait", retry_after_s=float(fault.retry_after))
            case TelegramUnauthorizedError() | TelegramNotFound():
                return self.bad_token()
            case TelegramConflictError():
                return ChannelUnavailableError(
                    f"another program polls the bot of [channels.telegram.{self.account}] (Telegram allows one): "
                    "stop it, or give this account a bot of its own"
                )
            case TelegramNetworkError():
                return ChannelUnavailableError(f"Telegram cannot be reached ({type(fault.__cause__).__name__})")
            case TelegramAPIError():
                return ChannelUnavailableError(self._said(fault))
        return ChannelUnavailableError("Telegram's answer cannot be read")

    def of_send(self, fault: Exception) -> ChannelError:
        """Return what *fault* means for a send, which must not be made twice without need."""
        match fault:
            case TelegramMigrateToChat():
                return SendRefusedError(f"the group became a supergroup, whose id is {fault.migrate_to_chat_id}")
            case TelegramBadRequest() | TelegramForbiddenError() | TelegramEntityTooLarge():
                return SendRefusedError(self._said(fault))
        error = self.of_call(fault)
        return UnsureSendError(str(error)) if _may_have_arrived(fault) else error

    def bad_token(self) -> ChannelConfigError:
        """Return the error of an account whose token Telegram does not take."""
        return ChannelConfigError(
            f"Telegram refuses the bot token of [channels.telegram.{self.account}]: copy it again from @BotFather"
        )

    def _said(self, fault: TelegramAPIError) -> str:
        return f"Telegram says: {fault.message or 'no reason'}".replace(self.token, "<token>")


def _may_have_arrived(fault: Exception) -> bool:
    """Tell whether Telegram may have taken the message although the call failed.

    It may when the request went out and no verdict came back. An error 5xx is no verdict: the machine in front may
    have given up on one behind it that goes on to deliver. A refused connection is one; so is any other code.
    """
    match fault:
        case TelegramServerError() | ClientDecodeError() | UnicodeDecodeError() | TypeError():
            return True
        case TelegramNetworkError():
            return not isinstance(fault.__cause__, ClientConnectorError)
    return False
