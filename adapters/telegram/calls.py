"""Calls to the Bot API for one bot, with errors translated into the contract's."""

from typing import TypeVar

from aiogram import Bot
from aiogram.methods import TelegramMethod

from adapters.telegram.faults import CALL_FAULTS, TelegramFaults

T = TypeVar("T")

CALL_TIMEOUT_S = 15
"""Timeout of a call that Telegram answers immediately; for a poll, in addition to the poll's own time."""


class TelegramCalls:
    """Calls that may be repeated freely; not for sends."""

    def __init__(self, bot: Bot, faults: TelegramFaults) -> None:
        self.bot = bot
        self.faults = faults

    async def __call__(self, method: TelegramMethod[T], timeout_s: int = CALL_TIMEOUT_S) -> T:
        """Return Telegram's answer. Raises ChannelConfigError and ChannelUnavailableError."""
        try:
            return await self.bot(method, request_timeout=timeout_s)
        except CALL_FAULTS as fault:
            raise self.faults.of_call(fault) from None
