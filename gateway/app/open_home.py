"""A home with its state open, and the parts that need nothing else."""

from datetime import datetime
from functools import partial

from adapters.channel import Address
from adapters.spoken import CHAT
from adapters.terminal import CHANNEL as TERMINAL
from gateway.admission.routing import Routes
from gateway.app.channels import reach_of, terminal_chat
from gateway.cluster.membership import Share
from gateway.config import OwnerZone
from gateway.delivery.owner_chat import OwnerChats
from gateway.delivery.owner_notices import Notices
from gateway.delivery.waker import OutboxWaker
from gateway.home import Home
from gateway.inbound.entrance import Entrance
from gateway.inbound.known_names import KnownNames
from gateway.runtime.clock import Clock
from gateway.stores.ports import Store
from workspaces.access import AgentId


class OpenHome:
    """A home with its state open; the waker and the entrance stand before the parts that they lead to."""

    def __init__(self, home: Home, share: Share, routes: Routes, store: Store, clock: Clock, zone: OwnerZone) -> None:
        """*routes* are those of all agents, ours or not."""
        self.files = home
        self.share = share
        self.config = share.mine
        """With only our agents."""
        self.routes = routes
        self.store = store
        self.clock = clock
        self.zone = zone
        self.waker = OutboxWaker()
        self.entrance = Entrance(store.inbox, routes)
        self.known_names = KnownNames(store)
        self.owner_chats = OwnerChats(store, routes, reach_of(self.config, routes), terminal_chat)
        terminal = Address(TERMINAL, self.config.default_agent, CHAT)
        chat = partial(self.owner_chats.of, AgentId(self.config.default_agent))
        self.notices = Notices(store, terminal, self.waker.wake, chat, zone.zone, self.known_names.all)

    def now(self) -> datetime:
        """Return the time, in the owner's zone."""
        return self.clock.now().astimezone(self.zone.zone)
