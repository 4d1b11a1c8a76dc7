"""Groups that are not allowed yet: asks the owner in their own chat, and writes their answer into the configuration.

Strangers can add a bot to any number of groups: each asks once, and few of them in an hour.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog
from msgspec import Struct

from adapters.abilities import JoinedGroup
from adapters.channel import Address, Button, InboundMessage, Sender
from gateway.admission.policy import DirectPolicy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Routes
from gateway.delivery.owner_notices import Notices, quoted
from gateway.errors import ConfigError, StoreError, StrandlineError
from gateway.runtime.escape import visible
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered

log = structlog.get_logger()

ASKED = "group_asked"
"""Counted for a group about which the owner was asked."""
HELD_BACK = "group_held_back"
"""Counted for a group that a stranger added the bot to, beyond those that the owner is asked about in an hour."""
KEY = "group_requests"
"""Key in the store: the groups that were asked about, latest first, each with its name and whether it was refused."""
MOST = 100
"""Groups remembered."""
STRANGERS_AN_HOUR = 3
"""Questions in an hour that strangers can cause. Our choices, both of these."""
NAME_CHARS = 40
COMMAND_BYTES = 64
"""Telegram's limit for a button."""
Allow = Callable[[str, str, str], Awaitable[None]]
"""Allows a group in the configuration, by channel, account and chat. Raises ConfigError."""


class GroupRequest(Struct, frozen=True, array_like=True):
    """A group that is not allowed."""

    place: str
    """As `<channel>.<account>.<chat>`."""
    name: str
    is_refused: bool = False


class GroupRequests:
    """Asks the owner about new groups, and remembers their answers."""

    def __init__(
        self, store: Store, notices: Notices, routes: Routes, now: Callable[[], datetime], allow_in_config: Allow
    ) -> None:
        self._store, self._notices, self._routes, self._now = store, notices, routes, now
        self._allow = allow_in_config
        self._rates = Rates(STRANGERS_AN_HOUR / 60, STRANGERS_AN_HOUR, now)
        self._one_by_one = asyncio.Lock()

    async def joined(self, group: JoinedGroup) -> None:
        """Ask about a group that somebody added the bot to. A failing store is logged: the group stays closed."""
        try:
            await self._ask(group.address, group.name, group.by)
        except StoreError as exc:
            log.error("the owner is not asked about a group", group=str(group.address), detail=str(exc))

    async def addressed(self, message: InboundMessage) -> None:
        """Ask about the group in which the owner has just written *message* to us. Raises StoreError."""
        await self._ask(message.address, message.chat_name, message.sender)

    async def known(self) -> list[GroupRequest]:
        """Return the groups that were asked about and are not allowed, latest first. Raises StoreError."""
        return await remembered(self._store, KEY, list[GroupRequest]) or []

    async def allow(self, place: str) -> str:
        """Allow the group; return its name for people. Raises StrandlineError, for an unknown one too."""
        group = await self._find(place)
        try:
            await self._allow(*_parts(group.place))
        except ConfigError as exc:
            raise StrandlineError(f"It could not be written down: {exc}") from exc
        await self._keep(group, is_known=False)
        return quoted(group.name, group.place)

    async def refuse(self, place: str) -> str:
        """Keep the group closed and ask no more about it; return its name for people. Raises StrandlineError."""
        group = await self._find(place)
        await self._keep(GroupRequest(group.place, group.name, is_refused=True))
        return quoted(group.name, group.place)

    async def _find(self, place: str) -> GroupRequest:
        found = next((each for each in await self.known() if each.place == place), None)
        if found is None:
            raise StrandlineError(f"No group {quoted(place, place)} asks; `/group` lists those that do.")
        return found

    async def _keep(self, group: GroupRequest, *, is_known: bool = True) -> None:
        async with self._one_by_one:
            others = [each for each in await self.known() if each.place != group.place]
            await remember(self._store, KEY, (([group] if is_known else []) + others)[:MOST])

    async def _ask(self, address: Address, name: str, by: Sender) -> None:
        place = f"{address.channel}.{address.account}.{address.chat}"
        policy = self._routes.policy
        account = policy.accounts.get((address.channel, address.account))
        if account is None or account.direct is DirectPolicy.CLAIM or address.chat in account.groups:
            return
        asked = {each.place: each for each in await self.known()}
        is_owners = policy.is_owner(address.channel, by)
        if place in asked and (asked[place].is_refused or not is_owners):
            return
        if not is_owners and not self._rates.take("strangers"):
            await self._store.count(HELD_BACK)
            return
        request = GroupRequest(place, " ".join(name.split())[:NAME_CHARS])
        day = f":{self._now():%Y-%m-%d}" if is_owners else ""
        said = _question(request, by, is_owners=is_owners)
        await self._notices.tell(f"group:{place}{day}", said, buttons=_answers(request))
        await self._keep(request)
        await self._store.count(ASKED)


def _question(group: GroupRequest, by: Sender, *, is_owners: bool) -> str:
    where = quoted(group.name, group.place)
    begin = (
        f"You wrote to me in the group {where}, or added me to it"
        if is_owners
        else (f"{quoted(by.name, by.id)} added me to the group {where}")
    )
    return (
        f"{begin}. I answer nobody there unless you allow it. If you do, everybody there can ask me by mentioning me; "
        "your private notes and chats stay hidden from them."
    )


def _answers(group: GroupRequest) -> tuple[Button, ...]:
    name = visible(group.name) or group.place
    buttons = (
        Button(f"Allow {name}?", f"/group allow {group.place}"),
        Button("Keep closed", f"/group refuse {group.place}"),
    )
    return buttons if all(len(each.command.encode()) <= COMMAND_BYTES for each in buttons) else ()


def _parts(place: str) -> tuple[str, str, str]:
    channel, account, chat = place.split(".", 2)
    return channel, account, chat
