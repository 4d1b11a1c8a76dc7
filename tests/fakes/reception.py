"""A reception whose owner and senders are told nothing unless a test wants to hear it."""

from gateway.admission.gate import AdmissionGate
from gateway.admission.routing import Routes
from gateway.inbound.entrance import Entrance, Submit
from gateway.inbound.receive import Reception, StoreTrouble
from gateway.stores.ports import Store


async def unheard(*_: object) -> None:
    """Let nobody hear of it."""


def reception_of(routes: Routes, store: Store, submit: Submit, admission: AdmissionGate) -> Reception:
    """Return a reception that passes messages on by *submit*."""
    entrance = Entrance(store.inbox, routes)
    entrance.lead_to(submit)
    return Reception(entrance, store, admission, unheard, unheard, StoreTrouble(unheard, lambda: None))
