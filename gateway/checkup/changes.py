"""Changes of notes that accepted proposals make; pure, apart from the writing of the files.

A proposal concerns its lines and nothing else: it is carried out wherever they stand now, and refused with the
difference if they have changed.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.approvals.diff import difference
from gateway.checkup.proposals import CheckupProposal
from gateway.errors import CheckupError
from workspaces.memory.checkup.findings import FindingKind
from workspaces.memory.checkup.noted import noted_entries
from workspaces.revert import rewritten_line, without_item_mark
from workspaces.sections import Category, saved

LOST = 0.25
"""Share of the entries that one change may take away; the mission's number."""
MEMORY = PurePosixPath("MEMORY.md")

Texts = Mapping[PurePosixPath, str]


class TouchedNotes(Struct, frozen=True):
    """The files that a change concerns, as they are, and how much there is in all."""

    texts: Texts
    memory: PurePosixPath = MEMORY
    """Path of the long-term memory."""
    entries: int = 0
    """Entries of all private notes."""


def paths_of(proposals: Sequence[CheckupProposal], memory: PurePosixPath) -> set[PurePosixPath]:
    """Return the files that *proposals* concern."""
    named = {path for each in proposals for path in (each.path, each.beside_path) if path}
    return {memory, *map(PurePosixPath, named)}


def fitting(notes: TouchedNotes, proposals: Sequence[CheckupProposal]) -> tuple[list[CheckupProposal], dict[str, str]]:
    """Return those of *proposals* that can be carried out together, and why each other one cannot, by mark."""
    texts, fit, left = dict(notes.texts), [], {}
    for each in _from_the_end(proposals):
        try:
            _carry_out(texts, notes.memory, each, None)
            fit.append(each)
        except CheckupError as exc:
            left[each.mark] = str(exc)
    return fit, left


def carried_out(notes: TouchedNotes, proposals: Sequence[CheckupProposal], words: str | None = None) -> Texts:
    """Return the texts that *proposals* change, as they are then; *words* replace the note of a single one.

    Raises CheckupError if one does not fit any more, or if more than a quarter of the entries would be lost.
    """
    texts = dict(notes.texts)
    for each in _from_the_end(proposals):
        _carry_out(texts, notes.memory, each, words)
    changed = {path: text for path, text in texts.items() if notes.texts.get(path) != text}
    _refuse_loss(notes, changed)
    return changed


def _from_the_end(proposals: Sequence[CheckupProposal]) -> list[CheckupProposal]:
    """Return *proposals* so that earlier lines keep their numbers."""
    return sorted(proposals, key=lambda each: -each.line)


def _carry_out(
    texts: dict[PurePosixPath, str], memory: PurePosixPath, proposal: CheckupProposal, words: str | None
) -> None:
    """Change *texts* as *proposal* says. Raises CheckupError, and leaves them, if it does not fit."""
    place = memory if proposal.kind is FindingKind.PROMOTION else PurePosixPath(proposal.path)
    number = _number_of_beside(texts, proposal)
    if proposal.kind is FindingKind.PROMOTION:
        section, text = _section_and_text(proposal.after or "")
        texts[place] = saved(texts.get(place), words or text, section)
    else:
        texts[place] = _changed(texts.get(place, ""), proposal, _lines_after(proposal, number, words))


def preview(proposal: CheckupProposal) -> str:
    """Return the change of *proposal* as a diff."""
    if proposal.kind is FindingKind.PROMOTION:
        _, text = _section_and_text(proposal.after or "")
        return difference(None, f"- {text}\n")
    return difference(proposal.before, proposal.after if proposal.after is not None else "")


def words_of(proposal: CheckupProposal) -> str:
    """Return the words of the note, as its owner would rewrite them: without list mark and time."""
    if proposal.kind is FindingKind.PROMOTION:
        return _section_and_text(proposal.after or "")[1]
    return without_item_mark(proposal.before)


def _number_of_beside(texts: Texts, proposal: CheckupProposal) -> int:
    """Return the present line of the entry that is to stay; 0 without one.

    Raises CheckupError if it is gone: then the other one says something that nothing else says.
    """
    if not proposal.beside:
        return 0
    there = texts.get(PurePosixPath(proposal.beside_path), "")
    places = _places(there, proposal.beside)
    is_copy = (proposal.beside_path, proposal.beside) == (proposal.path, proposal.before)
    if len(places) <= (is_copy and proposal.kind is not FindingKind.PROMOTION):
        there = f"{proposal.beside_path}#L{proposal.beside_line}"
        raise CheckupError(
            f"{proposal.citation} was left as it is, because {there} has changed since; check again. "
            f"It said: {' '.join(proposal.beside.split())}"
        )
    return 1 + min(places, key=lambda at: abs(at + 1 - proposal.beside_line))


def _lines_after(proposal: CheckupProposal, number: int, words: str | None) -> list[str]:
    """Return the lines in the place of the proposal's note; a citation in them follows its line to *number*."""
    if words is not None:
        return rewritten_line(proposal.before.split("\n")[0], words).rstrip("\r\n").split("\n")
    if proposal.after is None:
        return []
    then, now = (f"now {proposal.beside_path}#L{at})" for at in (proposal.beside_line, number))
    return proposal.after.replace(then, now).split("\n")


def _changed(text: str, proposal: CheckupProposal, new: Sequence[str]) -> str:
    lines, old = text.split("\n"), proposal.before.split("\n")
    places = _places(text, proposal.before)
    if not places:
        now = "\n".join(line.rstrip("\r") for line in lines[proposal.line - 1 : proposal.line - 1 + len(old)])
        raise CheckupError(
            f"{proposal.citation} has changed since, so it was left as it is; check again.\n"
            f"{difference(proposal.before, now)}"
        )
    at = min(places, key=lambda at: abs(at + 1 - proposal.line))
    end = "\r" if lines[at].endswith("\r") else ""
    lines[at : at + len(old)] = [f"{line}{end}" for line in new]
    return "\n".join(lines)


def _places(text: str, lines: str) -> list[int]:
    """Return where *lines* stand in *text*, from 0."""
    here = [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]
    wanted = lines.split("\n")
    return [at for at in range(len(here) - len(wanted) + 1) if here[at : at + len(wanted)] == wanted]


def _section_and_text(after: str) -> tuple[Category, str]:
    section, _, text = after.partition(": ")
    return Category(section), text


def _refuse_loss(notes: TouchedNotes, changed: Texts) -> None:
    """Raise CheckupError if *changed* loses more than a quarter of the entries, of all notes or of `MEMORY.md`.

    One note may always go: the owner saw it.
    """
    lost = {
        path: max(_entries(path, notes.texts.get(path, "")) - _entries(path, text), 0) for path, text in changed.items()
    }
    lasting, of_memory = _entries(notes.memory, notes.texts.get(notes.memory, "")), lost.get(notes.memory, 0)
    total = max(notes.entries, sum(lost.values()))
    if sum(lost.values()) > max(1, LOST * total) or of_memory > max(1, LOST * lasting):
        raise CheckupError(
            f"that would remove {sum(lost.values()):,} of {total:,} notes, {of_memory:,} of {lasting:,} in MEMORY.md: "
            "more than a quarter. Nothing was changed; accept fewer at once"
        )


def _entries(path: PurePosixPath, text: str) -> int:
    return sum(1 for _ in noted_entries(path, text))
