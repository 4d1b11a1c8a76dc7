"""The outcome of a check-up in words."""

from gateway.checkup.proposals import CheckupRecord
from workspaces.memory.checkup.findings import FindingKind


def summary_of(record: CheckupRecord) -> str:
    """Return the outcome of *record* in a sentence or two."""
    if record.at is None:
        return "No check-up yet."
    faults = {kind: number for kind, number in record.found.items() if kind != FindingKind.PROMOTION and number}
    kinds = ", ".join(f"{number:,} {FindingKind(kind).in_words}" for kind, number in faults.items())
    found = f"{sum(faults.values()):,} of them should change: {kinds}" if faults else "nothing is wrong"
    worth = record.found.get(FindingKind.PROMOTION, 0)
    kept = f", and {worth:,} {'is' if worth == 1 else 'are'} worth keeping in MEMORY.md" if worth else ""
    lasting = f", {record.lasting:,} of them in MEMORY.md (quality {record.score:.2f} of 1)" if record.lasting else ""
    unknown = f" Of {record.unknown:,} nobody knows who wrote them." if record.unknown else ""
    weak = f" {len(record.weak):,} are vague, and were never confirmed nor used." if record.weak else ""
    return (
        f"{record.entries:,} note{'' if record.entries == 1 else 's'} checked{lasting}; {found}{kept}.{unknown}{weak}"
    )
