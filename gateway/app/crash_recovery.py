"""Recovery from crashes: quarantines items that the process crashed on repeatedly, before anything else."""

from collections.abc import Mapping
from types import MappingProxyType

import structlog

from adapters.channel import Address
from gateway.admission.internal_channels import CHANNELS
from gateway.delivery.owner_notices import Notices
from gateway.errors import StoreError
from gateway.runtime.work_journal import WorkJournal
from gateway.stores.codec import MESSAGES
from gateway.stores.ports import Store
from gateway.stores.quarantine import CRASHED_MESSAGE, CRASHED_REPLY, QuarantinedRow, QuarantineKind
from gateway.stores.rows import Outgoing

log = structlog.get_logger()

REASONS: Mapping[str, str] = MappingProxyType(
    {QuarantineKind.MESSAGE: CRASHED_MESSAGE, QuarantineKind.REPLY: CRASHED_REPLY}
)
WHY = "the gateway crashed repeatedly while it worked on this"


async def quarantine_suspects(journal: WorkJournal, store: Store, notices: Notices) -> int:
    """Quarantine the rows that *journal* blames, notify the owner and waiting senders; return their number.

    Raises StoreError.
    """
    rows = [(item, *item.split()) for item in journal.suspects]
    found = 0
    for item, kind, number in rows:
        if await store.quarantine.add(REASONS[kind], int(number), WHY):
            found += 1
            row = next(each for each in reversed(await store.quarantine.all()) if each.row == number)
            log.error("quarantined after repeated crashes", kind=kind, row=number, quarantine=row.id)
            await _tell(row, store, notices)
        journal.acquit(item)
    return found


async def _tell(row: QuarantinedRow, store: Store, notices: Notices) -> None:
    writer = _writer(row)
    whose = f"a message from {writer}" if writer else f"a {row.kind}"
    await notices.tell(
        f"quarantine:{row.id}",
        f"I crashed repeatedly while processing {whose}, so I have quarantined it; everything else continues. To "
        f"inspect it: strandline quarantine list. To retry it: strandline quarantine retry {row.id}. To delete it: "
        f"strandline quarantine drop {row.id}.",
    )
    if writer and writer.channel not in CHANNELS:
        sorry = "I could not process your last message and have told my owner. You can write to me as before."
        if notice := await store.notify(f"quarantined:{row.id}", Outgoing(writer, sorry)):
            notices.wake([notice])


def _writer(row: QuarantinedRow) -> Address | None:
    """Return the chat that waits for an answer to *row*, if it is a message."""
    if row.kind is not QuarantineKind.MESSAGE:
        return None
    try:
        message = MESSAGES.decode(row.content)
    except StoreError:
        return None
    return message.answer_address
