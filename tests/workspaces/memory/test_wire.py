"""Round trip of frames through the pipe, however the pipe cuts them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.access import Scope
from workspaces.memory.entry import Document
from workspaces.memory.wire import Decoder, Frame, WireError, document_in, document_out, encode, scopes_in, scopes_out

TEXT = st.text(alphabet=st.characters(codec=None))
FRAMES = st.lists(st.dictionaries(TEXT, TEXT | st.integers() | st.none() | st.lists(TEXT), max_size=4), max_size=5)


@given(frames=FRAMES, sizes=st.lists(st.integers(1, 7), min_size=1))
def test_frames_survive_any_cut(frames: list[Frame], sizes: list[int]) -> None:
    """Frames arrive whole and in order, in whatever pieces the stream comes, lone surrogates included."""
    stream = b"".join(map(encode, frames))
    decoder = Decoder()
    arrived: list[Frame] = []
    turn = 0
    while stream:
        size = sizes[turn % len(sizes)]
        arrived += decoder.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert arrived == frames


@pytest.mark.parametrize("stream", [b"\xff\xff\xff\xff", b"\0\0\0\2no", b"\0\0\0\2[]"])
def test_a_stream_that_is_not_ours_is_refused(stream: bytes) -> None:
    """A wrong length, no JSON, or something else than an object ends the connection."""
    with pytest.raises(WireError):
        list(Decoder().feed(stream))


@pytest.mark.parametrize("day", [None, date(2026, 3, 1)])
def test_documents_come_out_as_they_went_in(day: date | None) -> None:
    """A document, dated or not, survives the wire."""
    document = Document("memory/a.md", Scope("shared:x"), "text\r\n", day, "digest")
    [frame] = Decoder().feed(encode(document_out(document)))
    assert document_in(frame) == document


def test_every_scope_is_not_no_scope() -> None:
    """`None` (everything) and the empty set (nothing) stay apart."""
    for scopes in (None, frozenset[Scope](), frozenset({Scope("shared:x"), Scope("private")})):
        assert scopes_in(scopes_out(scopes)) == scopes
