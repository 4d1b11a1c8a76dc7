"""The ordinary notes in `bench/notes`, with questions labelled by hand, as a corpus of the retrieval bench.

The notes are lists, prose, decisions and tables of one invented year; LoCoMo has dialogue only. A line of
`questions.txt` is `kind | question | path: words of the line that answers it`, with as many places as there are.
"""

from pathlib import Path

from bench.retrieval import Corpus, Question

FOLDER = Path(__file__).parent / "notes"


def ordinary_notes() -> Corpus:
    """Return the notes in `bench/notes` and their questions. Raises ValueError for a label without a matching line."""
    paths = sorted(FOLDER.rglob("*.md"))
    notes = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    lines = (FOLDER / "questions.txt").read_text(encoding="utf-8").splitlines()
    return Corpus("notes", notes, [_question(line, notes) for line in lines if line and not line.startswith("#")])


def _question(line: str, notes: dict[str, str]) -> Question:
    kind, text, *places = (part.strip() for part in line.split("|"))
    return Question(text, kind, frozenset(_place(place, notes) for place in places))


def _place(label: str, notes: dict[str, str]) -> tuple[str, int]:
    path, _, words = label.partition(": ")
    found = [number for number, line in enumerate(notes[path].splitlines(), 1) if words in line]
    if len(found) != 1:
        raise ValueError(f"{label!r} is on {len(found)} lines, not on one")
    return path, found[0]
