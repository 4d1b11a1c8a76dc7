import json
import zipfile
from pathlib import Path

import pytest

from gateway.importers.chats import read_chatgpt, read_claude
from gateway.importers.imported import ImportFormatError
from tests.gateway.importers.exports import archive, chatgpt, claude

TALK = [("My locker is 117.", "Noted."), ("And the gym?", "On Oak Street.")]


@pytest.mark.parametrize(("make", "read"), [(chatgpt, read_chatgpt), (claude, read_claude)])
def test_each_message_keeps_its_words_its_author_and_its_time(make, read, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """In order, from an archive, a folder and a bare file alike; a branch that was left is none of it."""
    conversations = [make(number, TALK) for number in range(3)]
    (tmp_path / "conversations.json").write_text(json.dumps(conversations))
    places = archive(tmp_path / "export.zip", conversations), tmp_path, tmp_path / "conversations.json"
    found = [read(place)[0] for place in places]
    assert found[0] == found[1] == found[2]
    assert [session.id for session in found[0].sessions] == ["c0", "c1", "c2"]
    messages = found[0].sessions[1].messages
    assert [(each.is_owners, each.text) for each in messages] == [
        (True, "My locker is 117."),
        (False, "Noted."),
        (True, "And the gym?"),
        (False, "On Oak Street."),
    ]
    assert [f"{each.at:%Y-%m-%d %H:%M:%S}" for each in messages] == [
        f"2025-01-02 09:00:0{second}" for second in range(4)
    ]


def test_what_is_damaged_is_left_out_with_its_fault(tmp_path: Path) -> None:
    """The rest is imported."""
    empty = claude(1, [("", "")])
    rows = [claude(0, TALK), {"uuid": "x"}, empty]
    found = read_claude(archive(tmp_path / "export.zip", rows))[0]
    assert len(found.sessions) == 1
    assert found.left_out == (
        "conversation 2: chat_messages: Field required",
        "conversation 3 (Talk 1): it has no text",
    )


@pytest.mark.parametrize("content", [b"", b"[{", b"{}", b'[{"a": 1}]', b"PK\x03\x04 half an archive"])
def test_a_file_that_is_no_export_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    """It names the file and the way out."""
    (file := tmp_path / "export.zip").write_bytes(content)
    with pytest.raises(ImportFormatError, match=r"export\.zip"):
        read_chatgpt(file)


def test_a_file_that_is_nested_without_an_end_is_one_sentence(tmp_path: Path) -> None:
    """It is no broken archive, and its depth is no traceback."""
    (file := tmp_path / "conversations.json").write_text("[" * 100_000)
    with pytest.raises(ImportFormatError, match=r"conversations\.json is nested more deeply"):
        read_chatgpt(file)


def test_an_archive_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    """Its members are not looked through for something that might be meant."""
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as made:
        made.writestr("a.png", "x")
    with pytest.raises(ImportFormatError, match=r"no conversations\.json"):
        read_claude(tmp_path / "photos.zip")


def test_the_export_of_the_other_program_is_told_so(tmp_path: Path) -> None:
    """With the command that reads it, instead of a fault in each of its conversations."""
    with pytest.raises(ImportFormatError, match="it is Claude's; import it as that: strandline import claude FILE"):
        read_chatgpt(archive(tmp_path / "one.zip", [claude(0, [("a", "b")])]))
    with pytest.raises(ImportFormatError, match="strandline import chatgpt FILE"):
        read_claude(archive(tmp_path / "two.zip", [chatgpt(0, [("a", "b")])]))


def test_messages_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    """A damaged file freezes nothing."""
    talk = chatgpt(0, TALK)
    talk["mapping"]["m0"]["parent"] = "m3"
    found = read_chatgpt(archive(tmp_path / "export.zip", [talk]))[0]
    assert len(found.sessions[0].messages) == 4


@pytest.mark.parametrize("time", [1e20, float("nan"), float("inf"), 1_700_000_000_000])
@pytest.mark.parametrize("is_the_messages", [True, False])
def test_a_time_that_chatgpt_cannot_have_is_left_out_with_its_conversation(
    tmp_path: Path, time: float, is_the_messages: bool
) -> None:
    """Far away, no number, or in milliseconds, of the conversation or of a message; the rest is imported."""
    talk = chatgpt(1, TALK)
    (talk["mapping"]["m2"]["message"] if is_the_messages else talk)["create_time"] = time
    found = read_chatgpt(archive(tmp_path / "export.zip", [chatgpt(0, TALK), talk]))[0]
    assert [session.id for session in found.sessions] == ["c0"]
    assert [line.partition(": ")[0] for line in found.left_out] == ["conversation 2"]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_claude_cannot_have_is_left_out_with_its_conversation(tmp_path: Path, time: str) -> None:
    """In UTC it has no year, or in the owner's zone; the rest is imported."""
    talk = claude(1, TALK)
    talk["chat_messages"][2]["created_at"] = time
    found = read_claude(archive(tmp_path / "export.zip", [claude(0, TALK), talk]))[0]
    assert [session.id for session in found.sessions] == ["c0"]
    assert found.left_out[0].startswith("conversation 2: its time cannot be read")


def test_an_archive_with_a_broken_part_is_one_sentence(tmp_path: Path) -> None:
    """Its list of members is whole, and what they hold is not."""
    file = archive(tmp_path / "export.zip", [chatgpt(number, TALK) for number in range(20)])
    content = file.read_bytes()
    file.write_bytes(content[:60] + b"\xff" * 40 + content[100:])
    with pytest.raises(ImportFormatError, match="download it again"):
        read_chatgpt(file)
