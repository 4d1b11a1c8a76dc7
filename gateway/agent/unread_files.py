"""Files of a message that its model could not take in, by the ends of the lines that describe them."""

from collections.abc import Collection, Iterable, Iterator
from types import MappingProxyType

from gateway.agent.entries import Picture, UserEntry

NOT_TRANSCRIBED = "; not transcribed"
NOT_SHOWN = "; not shown to you"
NOT_READABLE = "; read_file cannot show it"
_NOT_SEEN = "not seen: this model accepts none"
_REMARKS = MappingProxyType(
    {
        ("[voice note: ", NOT_TRANSCRIBED): "the voice note was not heard: please write it",
        ("[sound: ", NOT_TRANSCRIBED): "the sound was not heard",
        ("[video: ", NOT_TRANSCRIBED): "the video was not seen",
        ("[photo: ", NOT_SHOWN): f"the photo was {_NOT_SEEN}",
        ("[file: ", NOT_READABLE): "the file was not read: paste the text that matters",
    }
)
"""By the beginning and the end of a line: how people are told of it, and what they can do."""
_PICTURE = f"the picture was {_NOT_SEEN}"


def unread_files(messages: Iterable[UserEntry]) -> Iterator[str]:
    """Yield a remark for each kind of file in *messages* that no model took in; quoted lines do not count."""
    remarks = (_remark(line, each.pictures) for each in messages if "[" in each.text for line in each.text.splitlines())
    yield from dict.fromkeys(filter(None, remarks))


def _remark(line: str, seen: Collection[Picture]) -> str:
    remark = next(
        (told for (begin, end), told in _REMARKS.items() if line.startswith(begin) and line.endswith(f"{end}]")), ""
    )
    if not line.startswith("[file: ") or ", image/" not in line:
        return remark
    return "" if any(each.path in line for each in seen) else _PICTURE
