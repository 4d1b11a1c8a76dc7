"""Processing of updates, delivered by poll or by webhook."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from aiogram.methods import AnswerCallbackQuery, GetMe
from aiogram.types import Update
from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.abilities import JoinedGroup
from adapters.channel import ChannelError, Count, InboundMessage, Receive
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.moved import MovedChats
from adapters.telegram.parse import IgnoredUpdate, Migration, TelegramBot, parse_update

logger = logging.getLogger(__name__)

ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "my_chat_member"]
PRESS_TIMEOUT_S = 5
"""Timeout for acknowledging a pressed button: the next message of the chat waits meanwhile."""


class UnreadUpdate(BaseModel):
    """The part of an update needed to skip it."""

    model_config = ConfigDict(extra="ignore")
    update_id: int


def read_update(update: object) -> Update | UnreadUpdate:
    """Return *update*, or only its number if the SDK does not know its shape. Raises ValidationError if malformed."""
    try:
        return Update.model_validate(update)
    except ValidationError:
        return UnreadUpdate.model_validate(update)


class UpdateReceiver:
    """Parses the updates of one bot and passes its messages on."""

    def __init__(self, account: str, calls: TelegramCalls, moved: MovedChats, count: Count) -> None:
        self._account = account
        self._calls = calls
        self._moved = moved
        self._count = count
        self._met: TelegramBot | None = None
        self._meeting = asyncio.Lock()
        self._tell_joined: Callable[[JoinedGroup], Awaitable[None]] | None = None

    def on_joined(self, tell: Callable[[JoinedGroup], Awaitable[None]]) -> None:
        """Call *tell* from now on with each group that the bot is added to."""
        self._tell_joined = tell

    async def meet(self) -> TelegramBot:
        """Fetch the bot's own user from Telegram unless already known. Raises ChannelError."""
        async with self._meeting:
            if self._met is None:
                user = await self._calls(GetMe())
                self._met = TelegramBot(
                    self._account, user.id, user.username or "", reads_groups=bool(user.can_read_all_group_messages)
                )
            return self._met

    async def hand_over(self, update: Update | UnreadUpdate, receive: Receive) -> None:
        """Pass the message of *update* to *receive*; an update without one is counted. Raises ChannelError."""
        me = await self.meet()
        found = parse_update(update, me, datetime.now(UTC)) if isinstance(update, Update) else IgnoredUpdate.UNREADABLE
        match found:
            case IgnoredUpdate():
                logger.info(
                    "update ignored", extra={"account": me.account, "update": update.update_id, "reason": found}
                )
                await self._count(found)
            case Migration():
                await self._moved.learn(found.chat, found.now)
            case JoinedGroup():
                await self._count(IgnoredUpdate.MEMBER)
                if self._tell_joined is not None:
                    await self._tell_joined(found)
            case _:
                refused = await receive(self._moved.known(found))
                if refused is None and isinstance(update, Update) and update.callback_query is not None:
                    await self._acknowledge(update.callback_query.id)

    async def look_at(self, update: Update | UnreadUpdate, tell: Receive) -> None:
        """Pass the message of *update*, if it has one, to *tell*, and do nothing else about it."""
        found = parse_update(update, await self.meet(), datetime.now(UTC)) if isinstance(update, Update) else None
        if isinstance(found, InboundMessage):
            await tell(self._moved.known(found))

    async def _acknowledge(self, press: str) -> None:
        """Stop Telegram's waiting sign on a pressed button; a press from long ago has none."""
        try:
            await self._calls(AnswerCallbackQuery(callback_query_id=press), PRESS_TIMEOUT_S)
        except ChannelError as exc:
            logger.info("button press not acknowledged", extra={"account": self._account, "detail": str(exc)})
