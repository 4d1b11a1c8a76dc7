"""The whole check-up of some entries."""

from datetime import date

from tests.workspaces.memory.checkup.notes import BY_AGENT, BY_OWNER, TODAY, lasting, of_day
from workspaces.memory.checkup.check import STEPS, KnownElsewhere, check
from workspaces.memory.checkup.copies import Instruction, Instructions
from workspaces.memory.checkup.findings import FindingKind
from workspaces.memory.checkup.noted import LineSource, NotedEntry
from workspaces.memory.checkup.quality import WEIGHTS, EntryUse, quality

RULE = "Ask before you delete a file, send a message or spend money."
ELSEWHERE = KnownElsewhere(Instructions([Instruction("AGENTS.md", RULE)]))


def kinds(entries: list[NotedEntry], elsewhere: KnownElsewhere = ELSEWHERE) -> list[tuple[FindingKind, str]]:
    """Return kind and text of each finding."""
    return [(each.kind, each.entry.text) for each in check(entries, elsewhere, TODAY, lambda: None).findings]


def test_one_entry_has_one_finding_and_an_original_stays() -> None:
    """A rule that was copied twice is copied, and no double; a double keeps one of its lines."""
    notes = lasting(RULE, RULE, "The cat is called Miso.", "The cat is called Miso.")
    assert kinds(notes) == [
        (FindingKind.COPIED, RULE),
        (FindingKind.COPIED, RULE),
        (FindingKind.DOUBLE, "The cat is called Miso."),
    ]
    marks = {each.mark for each in check(notes, ELSEWHERE, TODAY, lambda: None).findings}
    assert len(marks) == len(notes) - 1


def test_what_was_said_on_several_days_is_worth_keeping() -> None:
    """Unless MEMORY.md says it; a plan of one day and an order to remind are not."""
    said = [
        entry for day in ("2026-10-02", "2026-10-09", "2026-10-20") for entry in of_day(day, "Owner: my size is 42.5")
    ]
    assert kinds(said) == [(FindingKind.PROMOTION, "my size is 42.5")]
    assert kinds([*said, *lasting("My size is 42.5")]) == []
    plan = [entry for day in ("2026-10-02", "2026-10-09") for entry in of_day(day, "Owner: the play is on 27 March")]
    assert kinds(plan) == []
    days = ("2026-10-02", "2026-10-09", "2026-10-20")
    orders = [entry for day in days for entry in of_day(day, "Owner: remind me that my size is 42.5")]
    assert kinds(orders) == []


def test_unknown_origins_are_counted_and_never_guessed_at() -> None:
    """They are doubles or copies at most, which their words alone show."""
    notes = lasting("User is John Doe, an engineer.", "Dentist on 3 May.", source=LineSource())
    checked = check(notes, ELSEWHERE, TODAY, lambda: None)
    assert (checked.findings, checked.unknown, checked.weak) == ((), 2, ())


def test_each_step_is_reported() -> None:
    """As many as announced."""
    steps: list[int] = []
    check(lasting("a b c"), ELSEWHERE, TODAY, lambda: steps.append(1))
    assert len(steps) == STEPS


def test_the_score_is_the_sum_of_its_parts() -> None:
    """Each from 0 to 1, and so is the sum."""
    [entry] = lasting("The heating engineer is Herr Lorenz, 0341 5550 198.", source=BY_OWNER)
    best = quality(entry, EntryUse(uses=3, last=TODAY), TODAY)
    assert (best.stable, best.specific, best.confirmed, best.recent, best.used, best.score) == (1, 1, 1, 1, 1, 1)
    [vague] = lasting("went there tomorrow", source=BY_AGENT)
    worst = quality(vague, EntryUse(), date(2036, 3, 1))
    assert (worst.stable, worst.specific, worst.confirmed, worst.used) == (0, 0, 0, 0)
    assert worst.score < 0.001
    assert sum(WEIGHTS.values()) == 1
