"""The outcome of a check-up in words."""

from gateway.checkup.proposals import CheckupRecord
from workspaces.memory.checkup.findings import FindingKind


def summary_of(record: CheckupRecord) -> str:
    """Return the outcome of *record* in a sentence or two."""
    if record.at is None:
        return "No check-up yet."
    faults = sum(number for kind, number in record.found.items() if kind != FindingKind.PROMOTION)
    kinds = ", ".join(f"{number:,} {FindingKind(kind).in_words}" for kind, number in record.found.items())
    lasting = f", {record.lasting:,} of them in MEMORY.md (quality {record.score:.2f} of 1)" if record.lasting else ""
    said = f"{record.entries:,} notes checked{lasting}"
    found = f"{faults:,} of them should change" if faults else "nothing is wrong with them"
    unknown = f" Of {record.unknown:,} nobody knows who wrote them." if record.unknown else ""
    weak = f" {len(record.weak):,} are vague, and were never confirmed nor used." if record.weak else ""
    return f"{said}; {found}{f': {kinds}' if kinds else ''}.{unknown}{weak}"
