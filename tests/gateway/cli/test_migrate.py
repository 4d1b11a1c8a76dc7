"""What `strandline memory migrate` prints is safe to look at, whoever wrote the notes."""

import pytest

from gateway.app.index_migration import Compared
from gateway.cli.migrate import _tell
from gateway.config import QdrantSettings
from workspaces.access import AgentId


def test_a_line_of_a_note_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines that are found otherwise may be a group's: control characters stand as escapes."""
    compared = [Compared(AgentId("main"), 2, 2, 2, ("tea \x1b[2J\u202eoops",))]
    _tell(compared, QdrantSettings(url="http://127.0.0.1:6333"), as_json=False)
    assert r"    different: tea \x1b[2J\u202eoops" in capsys.readouterr().out
