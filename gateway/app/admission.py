"""Composes admission: who may write, and how people and groups that the gateway does not know are let in."""

import asyncio
from functools import partial

from gateway.admission.claim import Claims
from gateway.admission.gate import AdmissionGate, Newcomers
from gateway.admission.rate_limits import Rates
from gateway.app.channels import unclaimed
from gateway.app.resources import Resources
from gateway.config import read_config
from gateway.config.changes import set_values
from gateway.delivery.group_requests import GroupRequests
from gateway.delivery.pairing_notices import PairingNotices
from gateway.home import Home


def gate_of(resources: Resources, groups: GroupRequests) -> AdmissionGate:
    """Return the gate that every message passes; it tells *groups* of those that nobody allowed yet."""
    home, limits = resources.home, resources.home.config.limits
    rates = Rates(limits.person_a_minute, limits.person_burst, home.clock.now)
    claims = Claims(
        unclaimed(home.share.config), home.store, home.clock.now, partial(_add_owner, home.files), home.waker.wake
    )
    newcomers = Newcomers(pairing_notices_of(resources), claims, groups.addressed)
    return AdmissionGate(home.routes.policy, home.store, rates, home.clock.now, home.waker.wake, newcomers)


def pairing_notices_of(resources: Resources) -> PairingNotices:
    """Return the notices to the owner of people who ask to be let in."""
    home = resources.home
    return PairingNotices(home.store, home.notices, home.routes, home.owner_chats.of)


def group_requests_of(resources: Resources) -> GroupRequests:
    """Return the requests of groups to be answered, which the owner decides."""
    home = resources.home
    return GroupRequests(home.store, home.notices, home.routes, home.now, partial(_allow_group, home.files))


async def _add_owner(home: Home, person: str) -> None:
    """Add *person*, `<channel>:<id>`, to `owner.people`. Raises ConfigError."""

    def write() -> None:
        people = read_config(home.config_file).owner.people
        if person not in people:
            set_values(home, {("owner", "people"): [*people, person]})

    await asyncio.to_thread(write)


async def _allow_group(home: Home, channel: str, account: str, chat: str) -> None:
    """Let the bot *account* answer in the group *chat* when it is mentioned. Raises ConfigError."""
    await asyncio.to_thread(set_values, home, {("channels", channel, account, "groups", chat, "mention"): True})
