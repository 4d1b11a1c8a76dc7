"""`/group` is the owner's, in their own chat; its answers name the group."""

from adapters.abilities import JoinedGroup
from adapters.channel import Address, Sender
from tests.gateway.commands.house import OWNER_IN_GROUP, House


async def test_the_owner_decides_about_groups_that_ask(house: House) -> None:
    """They are listed until they are allowed; an unknown one, or half a command, is answered with what helps."""
    assert (await house.says("/group")).startswith("No groups ask.")
    (channel, account), *_ = house.policy.accounts
    await house.groups.joined(JoinedGroup(Address(channel, account, "-5"), "Family", Sender("666", "Eve")))
    place = f"{channel}.{account}.-5"
    assert await house.says("/group") == f"- `Family ({place})`: waits for you; `/group allow {place}`"
    assert "stays closed" in await house.says(f"/group refuse {place}")
    assert ": refused;" in await house.says("/group")
    assert f"`Family ({place})` is allowed" in await house.says(f"/group allow {place}")
    assert "No group" in await house.says(f"/group allow {place}")
    assert "Use `/group`" in await house.says("/group allow")
    assert "-5" not in await house.says("/group", OWNER_IN_GROUP)
