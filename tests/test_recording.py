"""The recording of a terminal in the README."""

from xml.etree import ElementTree

from scripts.record_terminal import COLUMNS, PICTURE, Recording, drawn

SVG = "{http://www.w3.org/2000/svg}"


def test_each_change_of_the_screen_is_a_frame_of_a_picture_without_scripts() -> None:
    """Frames begin at their seconds; a line that stands in several is written once, and as text."""
    recording = Recording()
    recording.feed("$ strandline chat\r\n", 1.0)
    recording.feed("", 1.0)
    recording.feed("> is 1 < 2 & 3?", 0.5)
    assert [at for at, _ in recording.frames] == [0.0, 2.0]
    root = ElementTree.fromstring(drawn(recording.frames, 5.0))
    assert [each.text for each in root.iter(f"{SVG}text")] == ["$ strandline chat", "> is 1 < 2 & 3?"]
    assert len(list(root.iter(f"{SVG}use"))) == 3
    assert "40.000%" in (root.find(f"{SVG}style").text or "")  # type: ignore[union-attr]


def test_the_recording_shows_the_story_of_the_readme() -> None:
    """The fact is noted before the restart and quoted behind it, and no line is cut."""
    lines = [each.text or "" for each in ElementTree.parse(PICTURE).getroot().iter(f"{SVG}text")]
    restart = lines.index("# the machine is started again")
    assert any("5433" in line for line in lines[:restart])
    assert any("which port does the staging database use?" in line for line in lines[restart:])
    assert all(len(line) <= COLUMNS for line in lines)
