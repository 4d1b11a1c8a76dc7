"""A name is taken as it is, or refused with the reason."""

import unicodedata
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workspaces.errors import BadPathError
from workspaces.files import Folder
from workspaces.paths import clean_path, fold, is_taken


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("..", "upwards"),
        ("notes/../../x", "upwards"),
        ("a\0b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\x7fb", "U+007F"),
        ("a\x85b", "U+0085"),
        ("a\u2028b", "U+2028"),
        ("gpj.\u202eexe.md", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\\b", "backslash"),
        ("..\\x", "backslash"),
        ("\udcff.md", "Unicode"),
        ("x" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        ("/".join("x" * 17), "17 levels"),
        (".git", ".git"),
        ("notes/.GIT/config", ".git"),
        (".g\u200cit/config", ".git"),
        (".strandline-0123456789abcdef.tmp", "reserved"),
        (".Strandline-x", "reserved"),
    ],
)
def test_a_bad_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    """The refusal says what is wrong, on one printable line."""
    with pytest.raises(BadPathError) as refusal:
        clean_path(text)
    assert reason in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (".", ""),
        ("./memory//2026-03-01.md", "memory/2026-03-01.md"),
        ("notes/", "notes"),
        ("日本/é.md", "日本/é.md"),
        ("e\u0301.md", "e\u0301.md"),
        ("👩\u200d👩\u200d👧.md", "👩\u200d👩\u200d👧.md"),
        ("~/x", "~/x"),
        (".gitignore", ".gitignore"),
        ("...", "..."),
        ("x" * 255, "x" * 255),
        ("/".join("x" * 16), "/".join("x" * 16)),
    ],
)
def test_a_good_name_is_kept_to_the_letter(text: str, path: str) -> None:
    """Only `.` components and doubled slashes disappear."""
    assert clean_path(text) == PurePosixPath(path)


NAMES = st.text(alphabet=st.one_of(st.sampled_from("./\\.~ \u202e\u200d%"), st.characters()), max_size=40)


def _cleaned(text: str) -> tuple[PurePosixPath | None, str]:
    try:
        return clean_path(text), ""
    except BadPathError as exc:
        return None, str(exc)


@given(NAMES)
@example("a/\ud800")
def test_every_text_is_a_safe_path_or_a_clear_refusal(text: str) -> None:
    """Whatever is asked for, a path that comes back stays inside, is sound, and is its own cleaned form."""
    path, refusal = _cleaned(text)
    assert refusal.isprintable()
    if path is None:
        return
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert len(path.parts) <= 16
    assert all(len(part.encode()) <= 255 for part in path.parts)
    assert not any(unicodedata.category(char) == "Cc" for char in str(path))
    assert clean_path(str(path)) == path
    assert all(is_taken(part) for part in path.parts)


@given(NAMES)
def test_a_name_that_is_taken_makes_an_exact_round_trip(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A file of any name that is taken is listed under that name and read back."""
    path, _ = _cleaned(text)
    if path is None or not path.name:
        return
    root = tmp_path_factory.mktemp("names")
    folder = Folder(root)
    folder.write(path, b"text", expected=None)
    assert [found.path for found in folder.walk()] == [path]
    assert folder.read(path).data == b"text"
    assert [each.name for each in folder.listing(path.parent)] == [path.name]
    assert not list(Path(root).rglob(".strandline-*"))


@pytest.mark.parametrize(
    ("one", "other"), [("MEMORY.md", "memory.md"), ("é", "e\u0301"), ("É", "e\u0301"), ("straße", "STRASSE")]
)
def test_twins_fold_to_one_key(one: str, other: str) -> None:
    """Letter case and normal form do not tell two names apart."""
    assert fold(one) == fold(other)


@given(st.text(alphabet="aZ0_ .-\u202e\n/", max_size=4))
def test_what_a_walk_takes_is_what_a_path_takes(name: str) -> None:
    """The quick look at usual names agrees with the close one."""
    path, _ = _cleaned(name)
    assert is_taken(name) == (path is not None and path.parts == (name,))
