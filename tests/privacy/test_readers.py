"""Nobody reads private files without saying for whom: every reader takes `Access`; the few that do not are named."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workspaces.history import History
from workspaces.memory.search import MemoryIndex
from workspaces.workspace import Workspace

ROOT = Path(__file__).parents[2]
TELL_NO_TEXT = {
    Workspace: {"holds_house", "create", "open", "check"},
    MemoryIndex: {
        "touched",
        "wake",
        "sync",
        "rebuild",
        "accept_change",
        "is_behind",
        "catch_up",
        "has_notes_of",
        "audience",
        "status",
    },
    History: {"open", "spare", "end_of", "record", "record_all", "record_first", "look", "maintain", "trace"},
}
"""Public methods without `Access`: they open, write what is there already, or tell counts to the owner."""
ALL_FILES = {
    "workspaces/workspace.py": "the workspace itself",
    "workspaces/bootstrap.py": "looks for the identities of files that are to be hidden",
    "workspaces/attachments.py": "looks for the names of files in the turn's own folder; each is read with its access",
    "workspaces/forget.py": "looks for the names of notes; each is read with the turn's access",
    "workspaces/history/history.py": "records every file and shows none",
    "gateway/app/agents.py": "gives the index, the history and the notices of files what they keep",
    "gateway/app/replay.py": "asks a copy of the home again with each turn's own access, for the owner",
    "gateway/turns/planning.py": "finds the notes that a turn may read, with its access",
    "gateway/control/status.py": "names to the owner the files that were left out",
    "gateway/cli/imports.py": "closes the workspace that it opened for the owner at the command line",
    "gateway/cli/agents.py": "counts files for the owner at the command line",
    "gateway/sessions/onboarding.py": "looks when one file was written",
    "gateway/transcripts/expiry.py": "looks which transcripts notes name; a name that is found keeps its file",
}
"""Who may take a workspace's files without `Access`, and what for: the index and the history keep each file's scope."""
ALL_WORDS = {
    "gateway/transcripts/codec.py": "how the files' lines are read",
    "gateway/transcripts/read_tail.py": "reads the end of a file for those below",
    "gateway/transcripts/writer.py": "keeps what a turn of its own session needs",
    "gateway/transcripts/archive.py": "lists by access; a part is read of what was listed",
    "gateway/transcripts/memory_source.py": "gives the index each conversation with its audience",
    "gateway/transcripts/store.py": "opens the transcript of one session",
    "gateway/turns/turn.py": "opens the session that its message was routed to",
    "gateway/turns/worker.py": "opens the session that its message was routed to",
    "gateway/sessions/lifecycle.py": "ends a session and notes it among its own notes",
    "gateway/transcripts/provenance.py": "leads the owner from a memory to the message that it came from",
    "gateway/web/completion_turns.py": "adds up the cost of a program's own turns, in their session",
    "gateway/web/chat.py": "shows the signed-in owner the owner's own conversation",
    "gateway/automation/heartbeat_runner.py": "looks whether a heartbeat's own turn failed, and puts its session away",
    "gateway/app/replay.py": "compares a copy's turns with what was recorded of them, for the owner",
    "gateway/control/memory.py": "shows the owner why an answer in their own chat was given",
    "gateway/inbound/agent_crosstalk.py": "looks whether an answer that other agents of its group hear is marked house",
}
"""Who may open transcripts."""


@pytest.mark.parametrize("reader", TELL_NO_TEXT, ids=lambda each: each.__name__)
def test_every_method_that_tells_of_files_takes_access(reader: type) -> None:
    """A new public method has `access` among its parameters, or is named here with those that tell no text."""
    functions = inspect.getmembers(reader, lambda each: inspect.isfunction(each) or inspect.ismethod(each))
    public = {name: inspect.signature(each) for name, each in functions if not name.startswith("_")}
    without = {name for name, signature in public.items() if "access" not in signature.parameters}
    assert without == TELL_NO_TEXT[reader]
    required = (each.parameters["access"] for each in public.values() if "access" in each.parameters)
    assert all(parameter.default is inspect.Parameter.empty for parameter in required)


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"workspace\.folder\b|\bFolder\(", ALL_FILES),
        (r"\b(?:numbered_records|in_line|NewestFirst)\(|(?:[sS]essions|transcripts|Transcript)\.open\(", ALL_WORDS),
    ],
    ids=["files", "transcripts"],
)
def test_only_those_who_are_named_reach_files_without_access(pattern: str, allowed: dict[str, str]) -> None:
    """A new place that reads past `Access` is a decision: it is named here with its reason."""
    found = {path for path, text in sources() if re.search(pattern, text)}
    assert found == allowed.keys()


def sources() -> Iterator[tuple[str, str]]:
    """Yield the program's files, by path from the root."""
    for wing in ("adapters", "gateway", "workspaces"):
        for file in sorted((ROOT / wing).rglob("*.py")):
            yield str(file.relative_to(ROOT)), file.read_text("utf-8")
