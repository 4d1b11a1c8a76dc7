"""Check of a bot's setup at Telegram against the configuration, with fixes."""

from collections.abc import Mapping, Sequence

from aiogram.enums import ChatMemberStatus
from aiogram.exceptions import ClientDecodeError, TelegramBadRequest, TelegramForbiddenError
from aiogram.methods import GetChatMember, GetWebhookInfo
from msgspec import Struct, field

from adapters.telegram.calls import CALL_TIMEOUT_S, TelegramCalls
from adapters.telegram.faults import CALL_FAULTS, unread_result
from adapters.telegram.incoming import UpdateReceiver
from adapters.telegram.moved import MovedChats
from adapters.telegram.parse import TelegramBot

PRIVACY_MODE = "telegram_privacy_mode"
"""Counted at start for each group whose messages Telegram withholds although the bot is to answer them all."""
_SEES_ALL = {ChatMemberStatus.ADMINISTRATOR, ChatMemberStatus.CREATOR}
_IS_THERE = {*_SEES_ALL, ChatMemberStatus.MEMBER, ChatMemberStatus.RESTRICTED}


class Groups(Struct, frozen=True):
    """Configuration of a bot's groups."""

    answers_all: Mapping[str, bool] = field(default_factory=dict)
    """Each group by its id, with a flag for answering without a mention too."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Groups that became supergroups: earlier id → present id."""


class Examination:
    """Checks one bot."""

    def __init__(self, calls: TelegramCalls, incoming: UpdateReceiver, groups: Groups, moved: MovedChats) -> None:
        self._calls = calls
        self._incoming = incoming
        self._answers_all = groups.answers_all
        self._moved = moved

    async def all(self, webhook_url: str | None) -> Sequence[str]:
        """Implements `Examines`."""
        me = await self._incoming.meet()
        found = [await self._group(chat, me) for chat in self._answers_all]
        return [finding for finding in [*found, await self._webhook(webhook_url)] if finding]

    async def privacy(self) -> Sequence[str]:
        """Return the groups in which privacy mode must be turned off. Raises ChannelError."""
        me = await self._incoming.meet()
        if me.reads_groups:
            return []
        found = [await self._group(chat, me) for chat, answers_all in self._answers_all.items() if answers_all]
        return [finding for finding in found if "privacy mode" in finding]

    async def _group(self, chat: str, me: TelegramBot) -> str:
        status = await self._status(GetChatMember(chat_id=self._moved.place(chat).chat, user_id=me.id))
        if status not in _IS_THERE:
            return f"the bot is not in the group {chat}: invite @{me.username} there, or correct the id in `groups`"
        if self._answers_all[chat] and not me.reads_groups and status not in _SEES_ALL:
            return (
                f"privacy mode is on, so Telegram hides messages in the group {chat} that do not mention the bot: "
                "send /setprivacy to @BotFather, choose Disable, then remove the bot from the group and invite it "
                "again"
            )
        return ""

    async def _status(self, request: GetChatMember) -> str:
        """Return the bot's status in a group; the SDK requires rights that Telegram may omit."""
        try:
            return str((await self._calls.bot(request, request_timeout=CALL_TIMEOUT_S)).status)
        except (TelegramBadRequest, TelegramForbiddenError):
            return ChatMemberStatus.LEFT
        except ClientDecodeError as fault:
            match unread_result(fault):
                case {"status": str(status)}:
                    return status
            raise self._calls.faults.of_call(fault) from None
        except CALL_FAULTS as fault:
            raise self._calls.faults.of_call(fault) from None

    async def _webhook(self, url: str | None) -> str:
        if url is None:
            return ""
        info = await self._calls(GetWebhookInfo())
        if info.url != url or not info.last_error_message or not info.pending_update_count:
            return ""
        return (
            f"Telegram cannot reach {url}: {info.last_error_message} ({info.pending_update_count} updates are "
            "waiting); check the reverse proxy and its certificate"
        )
