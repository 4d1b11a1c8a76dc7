"""Notices to the owner of conversations, settings and state that are lost."""

from datetime import datetime

from gateway.delivery.owner_notices import Notices
from gateway.stores.losses import latest_loss
from gateway.stores.ports import Store
from gateway.transcripts.session_marks import LostTranscript
from workspaces.access import AgentId

TRANSCRIPT_LOST = "transcript_lost"
"""Counted for each transcript that has lost all of its records."""


async def tell_of_state(notices: Notices, store: Store, now: datetime) -> None:
    """Tell the owner, once, what a start found missing from the state. Raises StoreError."""
    if (loss := await latest_loss(store, now)) is not None:
        await notices.tell(f"state_loss:{loss.at.isoformat()}", loss.said)


async def tell_of_choices(notices: Notices, agent: AgentId, now: datetime) -> None:
    """Tell the owner that the settings of the chats of *agent* are lost. Raises StoreError."""
    await notices.tell(
        f"choices_lost:{agent}:{now.isoformat()}",
        f"What was chosen with /model, /queue and /house in the chats of {agent} is damaged and cannot be read. Its "
        "chats have the configured model and queue mode again. Since any of them may have been marked `house`, all "
        "of them are now: only models on your own machines answer there. Send /house off in each chat that any "
        "configured model may read. Other agents are not affected.",
    )


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
