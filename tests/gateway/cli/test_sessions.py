"""The commands over conversations print what the desk answers, for people and for machines."""

import json
import resource
import stat
from pathlib import Path

from tests.gateway.cli.terminal import Terminal

EVIL = "\x1b[2J\u202eoops"


def test_the_list_has_all_agents_conversations(at_home: Terminal) -> None:
    """Each with how much it is and when it was last spoken in; of one agent where one is named."""
    at_home("chat", "--message", "one")
    assert at_home("sessions", "list").out.splitlines() == [
        "main  main  1 messages, 1 bytes, last 2026-03-03 09:30",
        "work  main  0 messages, 0 bytes, last 2026-03-03 09:30",
    ]
    (row,) = json.loads(at_home("sessions", "list", "--agent", "work", "--json").out)["sessions"]
    assert (row["agent"], row["session"], row["ended"], row["messages"]) == ("work", "main", None, 0)
    at_home.gateway.operator.said.clear()
    assert at_home("sessions", "list").out == "No conversations yet.\n"


def test_the_end_of_a_conversation_is_shown(at_home: Terminal) -> None:
    """The newest last; what nobody can read is told beside it, and steers no terminal."""
    at_home.gateway.operator.said["main"] = ["old", f"call {'x' * 500}", "used MEMORY.md", EVIL]
    shown = at_home("sessions", "show", "main", "--limit", "3")
    assert shown.out.splitlines() == [
        f"2026-03-03 09:30   call of Owner: call {'x' * 295}…",
        "2026-03-03 09:30   (Owner: used MEMORY.md)",
        r"2026-03-03 09:30 Owner: \x1b[2J\u202eoops",
    ]
    assert shown.err == "strandline: 1 damaged lines were skipped; they stay in the file\n"
    asked = json.loads(at_home("sessions", "show", "main", "--json").out)
    assert ([record["text"] for record in asked["records"]][-1], asked["damaged"]) == (EVIL, 1)
    assert at_home("sessions", "show", "other").err == "strandline: no conversation 'other'\n"


def test_all_of_a_conversation_is_exported(at_home: Terminal) -> None:
    """As Markdown or as it is stored, part after part, to the screen or into a new file of the owner's alone."""
    at_home.gateway.operator.said["main"] = ["one", "call ``` it", "used MEMORY.md"]
    printed = at_home("sessions", "export", "main")
    assert printed.out.split("\n\n") == [
        "### Owner, 2026-03-03 09:30",
        "one",
        "_call of Owner, 2026-03-03 09:30_",
        "````\ncall ``` it\n````",
        "_Owner, 2026-03-03 09:30: used MEMORY.md_",
        "",
    ]
    assert "3 damaged lines" in printed.err
    file = at_home.home.path / "talk.jsonl"
    assert at_home("sessions", "export", "main", "--format", "jsonl", "--output", str(file)).out == ""
    assert file.read_text("utf-8") == "'one'\n'call ``` it'\n'used MEMORY.md'\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_export_overwrites_nothing_and_leaves_no_half(at_home: Terminal, tmp_path: Path) -> None:
    """A file that exists is refused; a conversation that does not exist makes none."""
    at_home.gateway.operator.said["main"] = ["one"]
    file = tmp_path / "mine.md"
    file.write_text("mine")
    refused = at_home("sessions", "export", "main", "--output", str(file))
    assert (refused.status, file.read_text()) == (1, "mine")
    assert "name a new file" in refused.err
    assert at_home("sessions", "export", "other", "--output", str(tmp_path / "new.md")).status == 1
    assert not (tmp_path / "new.md").exists()


def test_an_export_that_fails_half_way_leaves_no_file(at_home: Terminal, tmp_path: Path) -> None:
    """What was written of it is gone again."""
    at_home.gateway.operator.said["main"] = ["one", "fail"]
    export = ("sessions", "export", "main", "--output", str(tmp_path / "new.md"))
    assert at_home(*export).err == "strandline: the transcript cannot be read\n"
    assert not (tmp_path / "new.md").exists()
    at_home.gateway.operator.said["main"] = ["x" * 100_000]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        failed = at_home(*export)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (failed.status, "cannot be written: File too large" in failed.err) == (1, True)
    assert not (tmp_path / "new.md").exists()


def test_what_was_said_is_found(at_home: Terminal) -> None:
    """With citation and neighbours, by day; how far it came is told."""
    at_home.gateway.operator.said["main"] = ["tea at four", "nothing", f"tea {EVIL}"]
    found = at_home("sessions", "search", "tea", "--since", "2026-03-01", "--until", "2026-03-04", "--limit", "5")
    assert found.out.splitlines() == [
        "sessions/main.jsonl#L1-L1  2026-03-01",
        "> tea at four",
        "  next",
        "sessions/main.jsonl#L1-L1  2026-03-01",
        r"> tea \x1b[2J\u202eoops",
        "  next",
        "(until 2026-03-04)",
    ]
    asked = json.loads(at_home("sessions", "search", "tea", "--since", "2026-03-01", "--json").out)
    assert [match["day"] for match in asked["matches"]] == ["2026-03-01", "2026-03-01"]
    assert at_home("sessions", "search", "coffee").out == "Nothing found.\n(until None)\n"
