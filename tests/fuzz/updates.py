"""Fuzzing of the update parsers: each update is a message that can be stored, or is refused for a counted reason."""

import asyncio
import json
from http import HTTPStatus
from typing import Any, TypeVar, cast

from aiogram.methods import TelegramMethod
from aiogram.types import User
from pydantic import ValidationError

from adapters.channel import ChatKind, InboundMessage
from adapters.discord.interactions import parse_interaction
from adapters.discord.parse import DiscordBot, parse_edit, parse_message
from adapters.discord.parse import IgnoredEvent as DiscordIgnored
from adapters.discord.places import ChannelDirectory, ChatLocation
from adapters.discord.wire import GatewayEvent, Interaction, MessageData
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.faults import TelegramFaults
from adapters.telegram.incoming import UpdateReceiver
from adapters.telegram.moved import MIGRATED, MovedChats
from adapters.telegram.parse import IgnoredUpdate as TelegramIgnored
from adapters.telegram.webhook import Webhook, WebhookDelivery
from gateway.stores.codec import MESSAGES
from tests.fakes.tally import Tally
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import Json, mutated_json, seeds_of

T = TypeVar("T")

_SECRET = "s3cret"
_STRAND = User(id=123456, is_bot=True, first_name="Strand", username="strand_bot")
_PLACES = (
    None,
    ChatLocation(ChatKind.GROUP, "300"),
    ChatLocation(ChatKind.DIRECT, "500"),
    ChatLocation(ChatKind.GROUP, "300", "310"),
)
_ME = DiscordBot("home", "100", {"101": "Strand"})


class _Calls(TelegramCalls):
    """A Bot API that knows who the bot is, and takes whatever else it is told."""

    def __init__(self) -> None:
        self.faults = TelegramFaults("home", "token")

    async def __call__(self, method: TelegramMethod[T], timeout_s: int = 0) -> T:
        return cast("T", _STRAND)


def check_telegram(update: Json) -> None:
    """Raise AssertionError if the webhook neither hands *update* on nor counts why, or answers with an error."""
    asyncio.run(_check_telegram(json.dumps(update).encode()))


async def _check_telegram(body: bytes) -> None:
    received: list[InboundMessage] = []
    tally = Tally()

    async def receive(message: InboundMessage) -> None:
        received.append(message)

    calls = _Calls()
    incoming = UpdateReceiver("home", calls, MovedChats("home", {}, tally.count), tally.count)
    bringing = WebhookDelivery(calls, incoming, Webhook("https://bot.example", _SECRET), tally.count)
    status = await bringing.take(_SECRET, body, receive)
    counted = sum(tally.reasons.values())
    assert set(tally.reasons) <= {*TelegramIgnored, MIGRATED}
    assert status in (HTTPStatus.OK, HTTPStatus.BAD_REQUEST)
    assert len(received) + counted == 1 or (status == HTTPStatus.OK and not received and b"migrate" in body)
    for message in received:
        check_message(message)


def check_discord(event: Json) -> None:
    """Raise AssertionError if an event's parser raises what the listener does not count as unreadable."""
    try:
        found = _parsed(str(event.get("name")), event.get("data"))
    except ValidationError:
        return
    for each in found:
        assert each is None or isinstance(each, DiscordIgnored | InboundMessage)
        if isinstance(each, InboundMessage):
            check_message(each)


def _parsed(name: str, data: Any) -> list[InboundMessage | DiscordIgnored | None]:
    match name:
        case "MESSAGE_CREATE" | "MESSAGE_UPDATE":
            message = MessageData.model_validate(data)
            return [parse(message, place, _ME) for parse in (parse_message, parse_edit) for place in _PLACES]
        case "INTERACTION_CREATE":
            interaction = Interaction.model_validate(data)
            return [parse_interaction(interaction, place, _ME) for place in _PLACES]
        case _:
            ChannelDirectory().learn(GatewayEvent(name, data), "100")
            return []


def check_message(message: InboundMessage) -> None:
    """Raise AssertionError if *message* would not come out of the store, or has no place, no id or no zone."""
    assert message.id
    assert message.address.chat
    assert message.sent_at.tzinfo is not None
    stored = MESSAGES.encode(message)
    assert MESSAGES.encode(MESSAGES.decode(stored)) == stored


TELEGRAM = Target("Telegram updates", mutated_json([seed.decode() for seed in seeds_of("telegram")]), check_telegram)
DISCORD = Target("Discord events", mutated_json([seed.decode() for seed in seeds_of("discord")]), check_discord)
