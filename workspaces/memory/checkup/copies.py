"""Notes that were copied from instructions: the agent's own files, skills, the gateway's prompts, orders of jobs."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import Hand, NotedEntry, figures_of, plain, stems_of
from workspaces.memory.text.facts import sentences

RUN = 5
"""Words in a row by which a passage of instructions is recognised; our choice."""
COVERED = 0.6
"""Share of an entry's runs that occur in instructions; our choice."""
CONTAINED = 0.85
"""Share of an entry's words that one instruction has, from which the entry only rewords it; our choice."""
FEWEST = 4
"""Words of an entry that can be told from a phrase of everyday talk."""
_ROLES = frozenset(
    stem
    for word in "agent assistant bot system prompt instruct rule told should must always needs told supposed".split()  # noqa: SIM905
    for stem in stems_of((word,))
)
"""Words by which a copy speaks of an instruction."""


class Instruction(Struct, frozen=True):
    """A text that tells the agent how to work."""

    name: str
    """A file's path, or a description."""
    text: str


class Instructions:
    """All instructions of an agent, as far as notes are compared with them."""

    def __init__(self, instructions: Iterable[Instruction]) -> None:
        self._runs: dict[int, str] = {}
        self._whole: dict[tuple[str, ...], str] = {}
        self._said: list[tuple[frozenset[str], str]] = []
        self._with: dict[str, list[int]] = {}
        self._figures: set[str] = set()
        for each in instructions:
            for paragraph in _paragraphs(each.text):
                for run in _runs(plain(paragraph)):
                    self._runs.setdefault(run, each.name)
                for sentence in sentences(paragraph):
                    self._learn(plain(sentence), each.name)

    def _learn(self, words: tuple[str, ...], name: str) -> None:
        self._whole.setdefault(words, name)
        self._figures |= figures_of(words)
        stems = stems_of(words)
        if len(stems) >= FEWEST:
            for word in stems:
                self._with.setdefault(word, []).append(len(self._said))
            self._said.append((stems, name))

    def source_of(self, entry: NotedEntry) -> str:
        """Return the instruction from which *entry* was copied; empty if from none."""
        parts = [plain(sentence) for sentence in sentences(entry.text)]
        names = [self._copied_from(words) for words in parts if len(stems_of(words)) >= FEWEST]
        return names[0] if names and all(names) else ""

    def _copied_from(self, words: tuple[str, ...]) -> str:
        if words in self._whole:
            return self._whole[words]
        if not self._figures.issuperset(figures_of(words)):
            return ""
        runs = _runs(words)
        known = [self._runs[run] for run in runs if run in self._runs]
        if len(runs) > 1 and len(known) >= COVERED * len(runs):
            return known[0]
        return self._reworded(stems_of(words) - _ROLES)

    def _reworded(self, stems: frozenset[str]) -> str:
        if len(stems) < FEWEST:
            return ""
        shared: dict[int, int] = {}
        for word in stems:
            for place in self._with.get(word, ()):
                shared[place] = shared.get(place, 0) + 1
        best = max(shared, key=lambda place: shared[place], default=-1)
        return self._said[best][1] if best >= 0 and shared[best] >= CONTAINED * len(stems) else ""


def copies(entries: Sequence[NotedEntry], instructions: Instructions) -> Iterator[NoteFinding]:
    """Yield a finding for each entry of *entries* that was copied; the owner's own lines are never taken for copies."""
    for entry in entries:
        if entry.source.hand is Hand.OWNER or not entry.is_note:
            continue
        if name := instructions.source_of(entry):
            yield NoteFinding(FindingKind.COPIED, entry, f"{name} says it already")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the list items and paragraphs of *text*, each on one line: a sentence may run over several."""
    lines: list[str] = []
    for line in text.split("\n"):
        begins = not line.strip() or line.lstrip()[:1] in "#-*+|"
        if begins and lines:
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line.strip().lstrip("#-*+| "))
    if lines:
        yield " ".join(lines)


def _runs(words: tuple[str, ...]) -> list[int]:
    return [hash(words[start : start + RUN]) for start in range(len(words) - RUN + 1)]
