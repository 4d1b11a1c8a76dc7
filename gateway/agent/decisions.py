"""The gateway's word on what became of changes that waited for the owner: told once, in the note on a turn.

What waits, and what was told of it, is read from the conversation itself, so it survives a restart. One module writes
these lines and reads them.
"""

from collections.abc import Iterator

from gateway.agent.entries import Entry, Mark, ResultEntry, TurnNoteEntry

_BEGIN, _AFTER = "Decided: #", ": "


def decision(number: int, outcome: str) -> str:
    """Return the line for a note; *outcome* ends a sentence that has the change as its subject."""
    return f"\n{_BEGIN}{number}{_AFTER}{outcome}"


class UndecidedChanges:
    """The numbers of changes that a conversation was told to wait for, and not yet what became of them."""

    def __init__(self) -> None:
        self._numbers: dict[int, None] = {}

    def add(self, entry: Entry | Mark) -> None:
        """Take up the next *entry* of the conversation."""
        if isinstance(entry, ResultEntry):
            self._numbers |= dict.fromkeys(_asked(entry))
        elif self._numbers and isinstance(entry, TurnNoteEntry):
            for number in _decided(entry.text):
                self._numbers.pop(number, None)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)


def _asked(result: ResultEntry) -> Iterator[int]:
    for act in result.acts:
        if act.kind == "waits" and (number := act.object.removeprefix("#")).isdecimal():
            yield int(number)


def _decided(note: str) -> Iterator[int]:
    for line in note.split("\n"):
        if line.startswith(_BEGIN) and (number := line.removeprefix(_BEGIN).partition(_AFTER)[0]).isdecimal():
            yield int(number)
