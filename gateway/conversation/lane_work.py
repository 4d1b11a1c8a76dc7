"""This file is what the lane of a session works on: a message to answer, or a pause or an end that is due."""

from dataclasses import dataclass

from gateway.conversation.lanes import RetryLater
from gateway.conversation.lifecycle import Due, Lifecycle
from gateway.conversation.turn import Turns
from gateway.door.routing import route
from gateway.stores.ports import InboxRow

Item = InboxRow | Due


@dataclass(frozen=True, slots=True)
class LaneWork:
    """Does one item at a time; a lane calls it."""

    turns: Turns
    lifecycle: Lifecycle

    async def __call__(self, item: Item) -> RetryLater | None:
        """Do *item*; the result asks to be called again when that is not possible now."""
        if isinstance(item, Due):
            await self.lifecycle.settle(item)
            return None
        await self.lifecycle.enter(route(item.message, self.turns.routes).key, item.turn_id)
        return await self.turns.answer(item)
