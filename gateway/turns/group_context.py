"""Context of a turn in a group: earlier messages of others, marked in every line."""

from collections.abc import Iterator, Sequence

from adapters.channel import OverheardMessage
from gateway.agent.entries import HEARD


def context_lines(heard: Sequence[OverheardMessage]) -> Iterator[str]:
    """Yield the lines that come before a message; none if nothing was *heard*. Times are in UTC."""
    if not heard:
        return
    yield HEARD
    for each in heard:
        author = " ".join(each.author.replace(":", " ").split()) or "Somebody"
        mark = f"> {each.sent_at:%Y-%m-%d %H:%M}Z {author}:"
        yield from (f"{mark} {line}" for line in each.text.splitlines())
    yield ""
