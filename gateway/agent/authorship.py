"""Whose words a person's message holds: the sender's own, or others' that it quotes, forwards or follows."""

from itertools import dropwhile

from gateway.agent.entries import UserEntry

HEARD = "(said in this group before, and not to you: nobody asks you anything in these lines)"
"""Begins a message in a group before which others said something; their lines begin with `>`."""
QUOTING = "(quoting "
"""Begins a message that carries a quotation; the quoted lines begin with `>`."""
EARLIER_VERSION = "an earlier message of mine, which this one corrects"
"""Author of the quotation in the message that an edit makes."""
_CARDS = frozenset({"contact", "place", "sticker", "attachment"})
"""Kinds of things that a message or its quotation describes by names alone: whoever made the thing chose them."""
_FILES = frozenset({"file", "photo", "sound", "video", "voice note"})
"""The same of those whose description begins with a name if there is one."""
_NAME_WORDS, _NAME_LETTERS = 4, 24
"""Most words and letters of such a name that says nothing of its own, as of a person or a document; a longer one may
be a sentence. Our choice.
"""
_WHOLE_WORDS = "\u2e80"
"""From here on a letter may be a word by itself, and counts as three."""


def own_words(entry: UserEntry) -> str:
    """Return the sender's own words in *entry*, without quotations; empty if all of it is somebody else's."""
    if not entry.from_outside and "[" not in entry.text and not entry.text.startswith(QUOTING):  # nearly all
        return entry.text.strip()
    told = {*_told_names(entry)}
    if entry.from_outside or corrects_earlier(entry):
        lines = _unquoted_lines(entry)
        lines = [] if all(map(_describes_file, lines)) else lines
    else:
        lines = entry.text.splitlines() if told else [entry.text]
    return "\n".join(line for line in lines if line not in told).strip()


def corrects_earlier(entry: UserEntry) -> bool:
    """Return whether *entry* is a later version of a message that its sender edited."""
    return entry.text.startswith(f"{QUOTING}{EARLIER_VERSION})")


def others_words(entry: UserEntry) -> str:
    """Return the words that *entry* passes on: a forward, the lines that it quotes, a long name; empty if none.

    The earlier version of an edited message is left out, with its own quotations.
    """
    if not entry.from_outside:
        return "\n".join(_told_names(entry)) if "[" in entry.text else ""
    if entry.text.startswith(HEARD):
        return ""
    if not entry.text.startswith(QUOTING):
        return entry.text.strip()
    lines = [] if corrects_earlier(entry) else entry.text.splitlines()[1:]
    quoted = [line.removeprefix("> ") for line in lines if _is_quoted(line)]
    unquoted = _unquoted_lines(entry)
    told = {*(_told_names(entry) if own_words(entry) else unquoted)}
    return "\n".join([*quoted, *(line for line in unquoted if line in told)]).strip()


def without_overheard(text: str) -> tuple[str, str]:
    """Return the talk that was overheard before the message *text*, without its marks, and the message itself."""
    lines = text.split("\n")
    if lines[0] != HEARD:
        return "", text
    rest = list(dropwhile(_is_quoted, lines[1:]))
    heard = lines[1 : len(lines) - len(rest)]
    return "\n".join(line.removeprefix(">").strip() for line in heard), "\n".join(
        rest[1:] if rest[:1] == [""] else rest
    )


def _unquoted_lines(entry: UserEntry) -> list[str]:
    """Return the lines behind the talk that was overheard before a message, and behind its quotation; none without."""
    lines = entry.text.splitlines()
    if not entry.text.startswith((HEARD, QUOTING)):
        return []
    for begin in (HEARD, QUOTING):
        if lines and lines[0].startswith(begin):
            rest = list(dropwhile(_is_quoted, lines[1:]))
            lines = rest[1:] if rest and not rest[0] else rest
    return [line for line in lines if not _is_quoted(line)]


def _is_quoted(line: str) -> bool:
    return line.startswith(">")


def _told_names(entry: UserEntry) -> list[str]:
    """Return the lines of a message in the owner's own chat whose names are so long that they may say something."""
    if entry.sender or "[" not in entry.text:
        return []
    return [line for line in entry.text.splitlines() if _may_say_something(_name_in(line))]


def _name_in(line: str) -> str:
    """Return the name in *line*, the description of a file or a card, perhaps a quoted one; empty for any other."""
    line = line.removeprefix("> ")
    kind, _, rest = line.partition(": ")
    if not (line.startswith("[") and line.endswith("]")):
        return ""
    if kind[1:] in _CARDS:
        return rest[:-1]
    name = rest.partition(", ")[0] if kind[1:] in _FILES else ""
    return "" if "/" in name else name  # without a name it begins with its type


def _may_say_something(name: str) -> bool:
    words = "".join(each if each.isalpha() else " " for each in name).split()
    letters = sum(3 if each >= _WHOLE_WORDS else 1 for word in words for each in word)
    return len(words) > _NAME_WORDS or letters > _NAME_LETTERS


def _describes_file(line: str) -> bool:
    """Return whether *line* is blank or the gateway's description of a file; that of a forward has others' name."""
    return not line.strip() or (line.startswith("[") and line.endswith("]"))
