"""The words to a sender whose turn fails or has to wait."""

import hashlib

from adapters.channel import InboundMessage
from gateway.admission.routing import Envelope
from gateway.agent.models.failures import told_failure
from gateway.delivery.direct_notices import kept_notice
from gateway.errors import ModelError, ModelFault, ModelRefusedError
from workspaces.access import SessionType


def code_of(message: InboundMessage) -> str:
    """Return a code that leads from a chat's sentence to the log; a turn's number would reveal others' activity."""
    facts = f"{message.address}\0{message.id}"
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def apology(exc: Exception, envelope: Envelope) -> str:
    """Return what the sender is told; only the owner, in their own chat, is told which setting is at fault."""
    is_private = envelope.access.session_type is SessionType.MAIN
    why = told_failure(exc).replace("`", "") if is_private else ""  # a code span holds no other one
    told = f"\n\n`{why}`" if why else ""
    match exc:
        case ModelRefusedError():
            known = "" if told or not is_private else "; `strandline doctor` says why"
            return f"My language model rejects my requests, so I cannot answer yet{known}. Your message is kept.{told}"
        case ModelError(fault=ModelFault.REPLY):
            what = str(exc).partition(": ")[2]
            return f"My language model answered, but {what}. Your message is kept; I ask again.{told}"
        case ModelError():
            said = "My language model cannot be reached now. Your message is kept; I answer as soon as it is back."
            return f"{said}{told}"
        case _:
            return kept_notice(exc)
