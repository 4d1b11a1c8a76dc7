"""The owner's direct chats, for agents' unprompted messages.

A chat is learned from the owner's messages there, never from a group; the owner is checked again each time.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.internal_channels import is_inner
from gateway.admission.routing import Routes, principal
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered
from workspaces.access import AgentId

KEY = "owner_chats"
"""Key in the store: a list of chats, latest first."""


class OwnerChat(Struct, frozen=True):
    """A direct chat between the owner and an agent."""

    agent: str
    person: str
    """The owner's Person there, as `<channel>:<numeric id>`."""
    address: Address

    @property
    def account(self) -> tuple[str, str]:
        return self.address.channel, self.address.account


class Reach(Struct, frozen=True):
    """The configured ways to reach the owner."""

    bots: frozenset[tuple[str, str]]
    """Accounts, by channel and name, that reach them anywhere."""
    pages: frozenset[tuple[str, str]] = frozenset()
    """Accounts that reach them only while they are looking."""
    assumed: tuple[OwnerChat, ...] = ()
    """Chats in which a bot can write first."""
    pinned: tuple[str, str] | None = None
    """The only account that the owner chose for this."""


class OwnerChats:
    """The owner's chat with each agent."""

    def __init__(self, store: Store, routes: Routes, reach: Reach, last: Callable[[AgentId], Address]) -> None:
        """*last* returns an agent's chat that always exists, whether or not somebody reads it."""
        self._store = store
        self._routes = routes
        self._reach = reach
        self._last = last
        self._known: list[OwnerChat] = []
        """As the store told last."""

    async def learn(self, message: InboundMessage, agent: AgentId) -> None:
        """Remember the chat of *message*, to *agent*, if the owner wrote it in a direct chat. Raises StoreError."""
        chat = self._chat_of(message, agent)
        if chat is None or chat in self._known[:1]:  # it is the latest, as far as this gateway knows
            return
        known = await self._load()
        others = [each for each in known if (each.agent, each.account) != (chat.agent, chat.account)]
        if known != [chat, *others]:
            await remember(self._store, KEY, [_row(each) for each in (chat, *others)])
            self._known = [chat, *others]

    async def of(self, agent: AgentId) -> Address | None:
        """Return the owner's chat for unprompted messages of *agent*; `None` if none is known at the chosen account."""
        found = self._choose(await self._load(), agent)
        if found is None and self._reach.pinned is None:
            return self._last(agent)
        return found

    def known(self, agent: AgentId) -> Address | None:
        """Return the same without asking the store, from what it told last; `None` if that is not enough."""
        return self._choose(self._known, agent)

    def _choose(self, known: Iterable[OwnerChat], agent: AgentId) -> Address | None:
        owners = self._routes.policy.owners
        known, assumed = ([each for each in chats if each.person in owners] for chats in (known, self._reach.assumed))
        return choose(known, assumed, agent, self._reach)

    async def _load(self) -> list[OwnerChat]:
        self._known = await _stored(self._store)
        return self._known

    def _chat_of(self, message: InboundMessage, agent: AgentId) -> OwnerChat | None:
        if message.kind is not ChatKind.DIRECT or is_inner(message):
            return None
        channel = message.address.channel
        account = channel, message.address.account
        if account not in self._reach.bots | self._reach.pages or not self._routes.policy.is_owner(
            channel, message.sender
        ):
            return None
        return OwnerChat(agent, principal(message), message.address)


async def met_accounts(store: Store) -> frozenset[tuple[str, str]]:
    """Return the accounts, by channel and name, at which the owner has written. Raises StoreError."""
    return frozenset(each.account for each in await _stored(store))


def choose(known: Sequence[OwnerChat], assumed: Sequence[OwnerChat], agent: str, reach: Reach) -> Address | None:
    """Return the best of the chats, latest first: the agent's own before another's, a bot's before a page's.

    One in which the owner wrote comes before those *assumed*: no bot may write on Telegram before it was started.
    """
    bots = reach.bots if reach.pinned is None else {reach.pinned}
    found = _first(known, agent, bots) or _first(assumed, agent, bots)
    if found is not None or reach.pinned is not None:
        return found
    return _first((each for each in known if each.agent == agent), agent, reach.pages)


def _first(known: Iterable[OwnerChat], agent: str, accounts: Iterable[tuple[str, str]]) -> Address | None:
    usable = [each for each in known if each.account in accounts]
    own = [each for each in usable if each.agent == agent]
    return next((each.address for each in (*own, *usable)), None)


_Row = tuple[str, str, str, str, str, str | None]


def _row(chat: OwnerChat) -> _Row:
    address = chat.address
    return chat.agent, chat.person, address.channel, address.account, address.chat, address.thread


async def _stored(store: Store) -> list[OwnerChat]:
    rows = await remembered(store, KEY, list[_Row])
    return [
        OwnerChat(agent, person, Address(channel, account, chat, thread))
        for agent, person, channel, account, chat, thread in rows or ()
    ]
