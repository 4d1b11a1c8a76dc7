"""Whether the owner's id of an account may be wrong: they have never written there, and somebody else has."""

import json
import shlex
from collections.abc import Sequence

from adapters.http import CHANNEL as HTTP
from adapters.terminal import CHANNEL as TERMINAL
from adapters.web import CHANNEL as WEB
from gateway.admission.policy import Policy, RefusalReason
from gateway.delivery.owner_chat import met_accounts
from gateway.stores.ports import Store

_OUR_CHANNELS = {TERMINAL, WEB, HTTP}
"""Channels whose owner is not named by the configuration."""
_STRANGERS = {RefusalReason.STRANGER, RefusalReason.UNPAIRED}


async def unmet_owners(store: Store, policy: Policy) -> list[str]:
    """Return a line with the remedy for each account that only strangers have written to. Raises StoreError."""
    met, strangers = await met_accounts(store), dict[tuple[str, str], str]()
    for each in await store.silences.latest():
        account = each.address.channel, each.address.account
        if each.reason in _STRANGERS and account not in met:
            strangers.setdefault(account, each.person)
    people = [each for each in sorted(policy.owners) if each.partition(":")[0] not in _OUR_CHANNELS]
    return [
        _doubt(".".join(account), people, stranger)
        for account, stranger in strangers.items()
        if stranger not in people and any(person.startswith(f"{account[0]}:") for person in people)
    ]


def _doubt(account: str, people: Sequence[str], stranger: str) -> str:
    channel = stranger.partition(":")[0]
    owners = [person for person in people if person.startswith(f"{channel}:")]
    corrected = json.dumps([*(person for person in people if person not in owners), stranger])
    return (
        f"{account}: its owner ({', '.join(owners)}) has never written to it, but {stranger} has. If that is you: "
        f"strandline config set owner.people {shlex.quote(corrected)}"
    )
