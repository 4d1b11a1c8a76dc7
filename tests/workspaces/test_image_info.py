"""What a picture says of itself is read, and nothing that only looks like one is taken for it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.pictures import gif, jpeg, png, webp
from workspaces.image_info import PictureFacts, picture_facts

WHOLE = {
    "png": (png(640, 480), "image/png"),
    "gif 87": (gif(640, 480, b"87a"), "image/gif"),
    "gif 89": (gif(640, 480), "image/gif"),
    "jpeg": (jpeg(640, 480), "image/jpeg"),
    "progressive jpeg": (jpeg(640, 480, 0xC2), "image/jpeg"),
    "lossy webp": (webp(640, 480), "image/webp"),
    "lossless webp": (webp(640, 480, b"VP8L"), "image/webp"),
    "extended webp": (webp(640, 480, b"VP8X"), "image/webp"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_each_type_says_how_large_it_is(name: str) -> None:
    """Width and height, in this order, whatever stands before them."""
    data, mime = WHOLE[name]
    assert picture_facts(data) == PictureFacts(mime, 640, 480)


@pytest.mark.parametrize("name", WHOLE)
def test_one_that_is_cut_off_before_its_size_is_none(name: str) -> None:
    """At whatever byte; a file says nothing that is not there."""
    data, mime = WHOLE[name]
    for end in range(len(data)):
        assert picture_facts(data[:end]) in {None, PictureFacts(mime, 640, 480)}
    assert picture_facts(data[:9]) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"<svg/>", b"RIFF\x00\x00\x00\x00WAVEfmt ", png(0, 480), gif(640, 0), b"\xff\xd8\xff" + b"\xff" * 99, b"BM"],
)
def test_what_is_none_of_them_is_none(data: bytes) -> None:
    """Other files, and a picture without an extent."""
    assert picture_facts(data) is None


@given(st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF"]), st.binary(max_size=200))
def test_whatever_a_stranger_sends_is_read_or_is_none(magic: bytes, rest: bytes) -> None:
    """No error, and no size that is nothing."""
    facts = picture_facts(magic + rest)
    assert facts is None or (facts.width > 0 and facts.height > 0)


@pytest.mark.parametrize("markers", [b"\xff", b"\xff\xd0", b"\xff\xe0\x00\x02"])
def test_a_file_of_nothing_but_markers_holds_nobody_up(markers: bytes) -> None:
    """Some hundred before the size are read, as cameras write them; megabytes of them are no picture."""
    begun = time.process_time()
    assert picture_facts(b"\xff\xd8\xff" + markers * 8_000_000) is None
    assert time.process_time() - begun < 1
    plain = jpeg(640, 480)
    assert picture_facts(plain[:2] + b"\xff\xe0\x00\x02" * 500 + plain[2:]) == PictureFacts("image/jpeg", 640, 480)
