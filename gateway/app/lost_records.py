"""Notices to the owner of conversations and state that are lost."""

from datetime import datetime

from gateway.delivery.owner_notices import Notices
from gateway.stores.losses import latest_loss
from gateway.stores.ports import Store
from gateway.transcripts.session_marks import LostTranscript

TRANSCRIPT_LOST = "transcript_lost"
"""Counted for each transcript that has lost all of its records."""


async def tell_of_state(notices: Notices, store: Store, now: datetime) -> None:
    """Tell the owner, once, what a start found missing from the state. Raises StoreError."""
    if (loss := await latest_loss(store, now)) is not None:
        await notices.tell(f"state_loss:{loss.at.isoformat()}", loss.said)


async def tell_of_transcript(notices: Notices, store: Store, lost: LostTranscript) -> None:
    """Count a lost transcript, and tell the owner. Raises StoreError."""
    await store.count(TRANSCRIPT_LOST)
    kept = f" Its old content is kept as {lost.kept_as}." if lost.kept_as else ""
    what = "has no readable record" if lost.kept_as else "is missing or empty"
    await notices.tell(
        f"transcript_lost:{lost.key}:{lost.since}:{lost.path}",
        f"I have lost the conversation {lost.key}: its transcript {lost.path} {what}, although it had records since "
        f"{lost.day}.{kept} I continue as in a new conversation; notes in memory are not affected. To restore it, "
        "stop the gateway and insert that file from a backup before the lines that were added since.",
    )
