"""Who first wrote each line, read from the whole history."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.workspaces.history.home import Home
from workspaces.access import Access, AgentId, Scope, SessionType, owner_access
from workspaces.history import EDITOR, Origin, WrittenBy

TURN = Origin("main/main", "1", "t-1", others=False)
LATER = Origin("main/main", "2", "t-2", others=False)
OWNER = owner_access(AgentId("main"), "test")
GROUP = Access(AgentId("main"), SessionType.GROUP, Scope("shared:telegram.home.-100"), "telegram:8", 0, frozenset())


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.workspace.folder.close()


def write(home: Home, text: str, origin: Origin | None) -> None:
    """Change `MEMORY.md` on disk and record it as a change of *origin*."""
    home.open().record([home.put("MEMORY.md", text)], None, origin)


def writer(home: Home, line: str, access: Access = OWNER) -> WrittenBy | None:
    """Return who wrote *line*."""
    return home.open().line_writers(access).of(line)


def test_the_first_hand_counts_and_the_owners_always(home: Home) -> None:
    """Who moves or repeats a line did not write it; the owner's edit makes it theirs."""
    write(home, "- The port is 5433\n", TURN)
    write(home, "# Notes\n\n* The port is 5433\n* The key is with Ann\n", LATER)
    port, key = writer(home, "The port is 5433"), writer(home, "- The key is with Ann")
    assert port is not None
    assert (port.origin, port.is_owners) == (TURN, False)
    assert key is not None
    assert key.origin == LATER
    assert isinstance(key.day, date)
    write(home, "- The port is 5433\n", EDITOR)
    write(home, "# By hand\n\n- The port is 5433\n", EDITOR)
    again = writer(home, "The port is 5433")
    assert again is not None
    assert again.is_owners


def test_a_line_without_a_trailer_is_nobodys(home: Home) -> None:
    """And one that no commit has is not known at all."""
    write(home, "- The port is 5433\n", None)
    port = writer(home, "The port is 5433")
    assert port is not None
    assert (port.origin, port.is_owners) == (None, False)
    assert writer(home, "The port is 5434") is None


def test_a_group_learns_of_no_writer(home: Home) -> None:
    """Not even whether a line is there."""
    write(home, "- The port is 5433\n", TURN)
    assert writer(home, "The port is 5433", GROUP) is None
