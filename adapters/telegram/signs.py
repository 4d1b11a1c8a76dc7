"""Typing indicator, drafts, reactions and the command menu on Telegram."""

from collections.abc import Sequence

from aiogram.enums import ChatAction
from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import SendChatAction, SendMessageDraft, SetMessageReaction, SetMyCommands
from aiogram.types import (
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
    BotCommandScopeUnion,
    ReactionTypeEmoji,
)

from adapters.abilities import MenuEntry
from adapters.channel import Address, SendRefusedError
from adapters.telegram.calls import CALL_TIMEOUT_S, TelegramCalls
from adapters.telegram.faults import CALL_FAULTS
from adapters.telegram.moved import MovedChats, telegram_number
from adapters.telegram.send import entities_of, topic_of
from adapters.text import telegram_parts

THE_DRAFT = 1
"""The number of every draft: a chat shows one at a time, and Telegram animates changes of the same one."""
LONGEST_DESCRIPTION = 256
MOST_COMMANDS = 100
"""Bot API, `BotCommand` and `setMyCommands`."""


class TelegramActivity:
    """Typing indicator, drafts, reactions and menus of one bot."""

    def __init__(self, calls: TelegramCalls, moved: MovedChats) -> None:
        self._calls = calls
        self._moved = moved

    async def show_typing(self, address: Address) -> None:
        """Implements `ShowsTyping`; the indicator lasts about five seconds."""
        request = SendChatAction(
            chat_id=self._moved.place(address.chat).chat,
            action=ChatAction.TYPING,
            message_thread_id=None if address.thread is None else telegram_number(address.thread),
        )
        await self._calls(request)

    async def show_draft(self, address: Address, text: str) -> None:
        """Implements `ShowsDrafts`: the end of *text*, in direct chats only, where Telegram supports drafts."""
        if (chat := telegram_number(address.chat)) < 0:
            return
        parts = [part for part in telegram_parts(text) if part.text.strip()]
        if not parts:
            return
        request = SendMessageDraft(
            chat_id=chat,
            draft_id=THE_DRAFT,
            message_thread_id=topic_of(address),
            text=parts[-1].text,
            entities=entities_of(parts[-1]),
        )
        await self._calls(request)

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Implements `Reacts`; Telegram accepts only some emoji."""
        place = self._moved.place(address.chat)
        message = place.message(message_id)
        if message is None:
            return
        request = SetMessageReaction(
            chat_id=place.chat, message_id=message, reaction=[ReactionTypeEmoji(emoji=emoji)] if emoji else []
        )
        try:
            await self._calls.bot(request, request_timeout=CALL_TIMEOUT_S)
        except TelegramBadRequest as fault:
            raise SendRefusedError(str(self._calls.faults.of_call(fault))) from None
        except CALL_FAULTS as fault:
            raise self._calls.faults.of_call(fault) from None

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        """Implements `HasMenu`: the owner's direct chats have their own menu with all commands."""
        for_all = [_command(entry) for entry in entries if not entry.for_owner]
        for_owner = [_command(entry) for entry in entries]
        await self._set_menu(for_all, BotCommandScopeDefault())
        await self._set_menu(for_all, BotCommandScopeAllGroupChats())
        for owner in owners:
            await self._set_menu_of_owner(for_owner, telegram_number(owner))

    async def _set_menu(self, commands: list[BotCommand], scope: BotCommandScopeUnion) -> None:
        await self._calls(SetMyCommands(commands=commands[:MOST_COMMANDS], scope=scope))

    async def _set_menu_of_owner(self, commands: list[BotCommand], owner: int) -> None:
        """Set the owner's menu; Telegram refuses it for a chat without messages, which then shows everybody's menu."""
        request = SetMyCommands(commands=commands[:MOST_COMMANDS], scope=BotCommandScopeChat(chat_id=owner))
        try:
            await self._calls.bot(request, request_timeout=CALL_TIMEOUT_S)
        except TelegramBadRequest:
            return
        except CALL_FAULTS as fault:
            raise self._calls.faults.of_call(fault) from None


def _command(entry: MenuEntry) -> BotCommand:
    described = f"{entry.usage} – {entry.help}" if entry.usage else entry.help
    return BotCommand(command=entry.name, description=described[:LONGEST_DESCRIPTION])
