"""`/house`, which marks a chat, and what a chat that was marked leaves behind."""

from adapters.channel import OverheardMessage
from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, House


async def test_what_a_marked_group_said_among_itself_is_not_passed_on_once_the_mark_ends(house: House) -> None:
    """The next question would bring it to whatever model answers then."""
    heard = OverheardMessage("Sam", "the pin is 4711", house.clock.now())
    await house.says("/house on", OWNER_IN_GROUP)
    await house.store.overheard.keep(MEMBER.address, "90", heard, 20)
    await house.says("/house", OWNER_IN_GROUP)
    assert (await house.store.overheard.of(MEMBER.address)).heard == (heard,)
    assert "is not marked" in await house.says("/house off", OWNER_IN_GROUP)
    assert (await house.store.overheard.of(MEMBER.address)).heard == ()
