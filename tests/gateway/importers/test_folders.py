import json
import os
from pathlib import Path

import pytest

from gateway.importers.folders import read_markdown, read_oneclaw, read_openclaw
from gateway.importers.imported import ImportFormatError
from tests.gateway.importers.exports import archive, hermes, openclaw


def test_a_home_of_openclaw_comes_whole(tmp_path: Path) -> None:
    """Notes and persona at their own places, the owner's talk word for word; the rest is named with the reason."""
    found = read_openclaw(openclaw(tmp_path / "openclaw", 3))[0]
    assert set(found.notes) == {"MEMORY.md", "SOUL.md", *(f"memory/2025-01-0{day}.md" for day in (1, 2, 3))}
    assert [session.messages[0].text for session in found.sessions] == [
        f"On day {day} the code is K-000{day}." for day in range(3)
    ]
    assert found.left_out == (
        "photo.png: it is no note (.md, .txt)",
        "agents/main/sessions/group.jsonl: a group's conversation: it does not say who wrote what",
        "openclaw.json: settings; see: strandline docs settings",
    )


def test_two_homes_in_one_folder_are_both_named(tmp_path: Path) -> None:
    """What belongs to another program or another agent stays behind, with the command that brings it."""
    home = hermes(openclaw(tmp_path / "merged", 1), 1)
    (home / "workspace-work").mkdir()
    found = read_openclaw(home)[0]
    assert "memories: of Hermes; import this folder once more: strandline import hermes" in found.left_out
    assert "workspace-work: another agent's workspace; import it by itself" in found.left_out
    assert set(found.notes) == {"MEMORY.md", "SOUL.md", "memory/2025-01-01.md"}
    assert len(found.proposals) == 3


def test_an_archive_instead_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    """It is to be unpacked first."""
    for read in (read_markdown, read_openclaw, read_oneclaw):
        with pytest.raises(ImportFormatError, match=r"^v\.zip is no folder; unpack it first"):
            read(archive(tmp_path / "v.zip", []))


def test_both_layouts_of_oneclaw_lead_to_the_same_places(tmp_path: Path) -> None:
    """A workspace, or `memory/MEMORY.md` with days in `memory/daily/`."""
    for name, files in (
        ("desktop", {"workspace/MEMORY.md": "m", "workspace/memory/2026-02-01.md": "d"}),
        ("phone", {"memory/MEMORY.md": "m", "memory/daily/2026-02-01.md": "d"}),
    ):
        for path, text in files.items():
            (file := tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert read_oneclaw(tmp_path / name)[0].notes == {"MEMORY.md": "m", "memory/2026-02-01.md": "d"}


def test_a_vault_keeps_its_folders_and_says_what_is_no_note(tmp_path: Path) -> None:
    """Links, other files, what is too large or no text stay behind; the program's own folders are not looked into."""
    vault = tmp_path / "Vault"
    (vault / "Boat" / "Refit").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "a.md").write_text("x")
    (vault / "Boat" / "Refit" / "engine.md").write_text("The engine is a Volvo.")
    (vault / "list.txt").write_text("rope")
    (vault / "latin.md").write_bytes(b"\xe9")
    (vault / "big.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (vault / "out.md").symlink_to("/etc/passwd")
    found = read_markdown(vault)[0]
    assert dict(found.notes) == {
        "memory/imports/Vault/Boat/Refit/engine.md": "The engine is a Volvo.",
        "memory/imports/Vault/list.txt.md": "rope",
    }
    assert [line.partition(":")[0] for line in found.left_out] == ["big.md", "latin.md", "out.md"]


@pytest.mark.parametrize("read", [read_markdown, read_openclaw, read_oneclaw])
def test_a_folder_without_notes_is_one_sentence(read, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Nothing is created for it."""
    with pytest.raises(ImportFormatError, match=tmp_path.name):
        read(tmp_path)


def said(content: object, at: object = "2025-01-02T10:00:01Z") -> bytes:
    """Return a message of the agent's as OpenClaw keeps it."""
    row = {"type": "message", "timestamp": at, "message": {"role": "assistant", "content": content}}
    return json.dumps(row).encode()


@pytest.mark.parametrize("read", [read_openclaw, read_oneclaw])
@pytest.mark.parametrize(
    "line",
    [
        said(None),
        said([{"type": "text", "text": None}]),
        said(["hi"]),
        said("x", float("nan")),
        said("x", 1e30),
        said("x", "0001-01-01T00:00:00+14:00"),
        said("x", "0001-01-01T00:00:00Z"),
        b"[" * 100_000,
        b'{"type": "message", "mess',
        b'{"type": "message", "message": "\xff"}',
        b"5",
    ],
    ids=lambda line: line[:80].decode("latin-1"),
)
def test_a_damaged_line_is_left_out_and_counted(read, line: bytes, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The rest of the conversation is imported, also a text with U+2028; a tool's result is no damage."""
    file = openclaw(tmp_path / "home", 1) / "agents/main/sessions/s0.jsonl"
    tool = json.dumps({"type": "message", "message": {"role": "toolResult", "content": None}}).encode()
    odd = said("one\u2028two").replace(b"\\u2028", "\u2028".encode())
    file.write_bytes(b"\n".join([line, file.read_bytes(), tool, odd, line]))
    found = read(tmp_path / "home")[0]
    texts = [message.text for message in found.sessions[0].messages]
    assert texts == ["On day 0 the code is K-0000.", "Kept.", "one\u2028two"]
    assert "agents/main/sessions/s0.jsonl: damaged lines: 2" in found.left_out


def test_a_damaged_list_of_conversations_is_as_none(tmp_path: Path) -> None:
    """The conversations are imported by their files' names."""
    home = openclaw(tmp_path / "home", 1)
    for name in ("agents/main/sessions/sessions.json", "openclaw.json"):
        (home / name).write_text("[" * 100_000)
    assert [session.id for session in read_openclaw(home)[0].sessions] == ["group", "s0"]


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are imported."""
    for name in ("locked", "open"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("a")
    monkeypatch.setattr(os, "access", lambda path, _: path.name != "locked")
    found = read_markdown(tmp_path)[0]
    assert list(found.notes) == [f"memory/imports/{tmp_path.name}/open/a.md"]
    assert found.left_out == ("locked: a link, no plain file, or a folder that cannot be read",)
