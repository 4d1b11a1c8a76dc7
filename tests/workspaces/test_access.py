"""What a turn may see is the table of the requirements, cell by cell."""

import copy
import pickle
from pathlib import PurePosixPath

import pytest
from msgspec import structs

from tests.workspaces.turns import (
    CRON,
    FULL_HEARTBEAT,
    GROUP,
    GROUP_CHAT,
    GROUP_WITH_USER,
    GUEST,
    HEARTBEAT,
    MAIN,
    OTHER,
    OTHER_CHAT,
    OWN,
    PRIVATE_CRON,
    SUBAGENT,
    turn,
)
from workspaces.access import (
    PRIVATE,
    Access,
    Grant,
    Locality,
    Scope,
    SessionType,
    may_know,
    may_read,
    may_show,
    may_write,
    owner_access,
    readable_scopes,
    reader_in,
    rights,
    scope_folder,
    scope_of,
)

COLUMNS = (MAIN, GUEST, GROUP, GROUP_WITH_USER, SUBAGENT, CRON, PRIVATE_CRON, HEARTBEAT, FULL_HEARTBEAT)

# p: in the prompt, r: readable by tools, w: writable by tools.
# A private turn reads everything; it writes nowhere that other people read (that takes the owner's approval).
TABLE = """
path                          main guest group group+user subagent cron cron+private heartbeat heartbeat+full
AGENTS.md                     prw  pr    pr    pr         pr       pr   prw          rw        prw
TOOLS.md                      prw  pr    pr    pr         pr       pr   prw          rw        prw
SOUL.md                       prw  pr    pr    pr         -        -    rw           rw        prw
IDENTITY.md                   prw  pr    pr    pr         -        -    rw           rw        prw
USER.md                       prw  -     -     pr         -        -    rw           rw        prw
HEARTBEAT.md                  rw   -     -     -          -        -    rw           prw       prw
BOOTSTRAP.md                  prw  -     -     -          -        -    rw           rw        prw
MEMORY.md                     prw  -     -     -          -        -    prw          rw        prw
memory.md                     prw  -     -     -          -        -    prw          rw        prw
agents.md                     prw  -     -     -          -        -    prw          rw        prw
memory/2026-03-01.md          prw  -     -     -          -        -    prw          rw        prw
memory/2026-03-01-boats.md    prw  -     -     -          -        -    prw          rw        prw
memory/AGENTS.md              prw  -     -     -          -        -    prw          rw        prw
plans/boat.md                 prw  -     -     -          -        -    prw          rw        prw
skills/knots/SKILL.md         prw  pr    pr    pr         pr       pr   prw          rw        prw
OWN/2026-03-01.md             pr   prw   prw   prw        -        -    pr           r         pr
OWN/plans/boat.md             pr   prw   prw   prw        -        -    pr           r         pr
OTHER/2026-03-01.md           pr   -     -     -          -        -    pr           r         pr
memory/Shared/x/y.md          pr   -     -     -          -        -    pr           r         pr
memory/shared/y.md            pr   -     -     -          -        -    pr           r         pr
memory                        prw  -     -     -          -        -    prw          rw        prw
"""
CELLS = [
    (line.split()[0].replace("OWN", OWN).replace("OTHER", OTHER), access, cell.strip("-"))
    for line in TABLE.strip().splitlines()[1:]
    for access, cell in zip(COLUMNS, line.split()[1:], strict=True)
]


@pytest.mark.parametrize(("path", "access", "cell"), CELLS)
def test_each_cell_of_the_matrix_is_as_written(path: str, access: Access, cell: str) -> None:
    """What a session type shows, reads and writes of a kind of file is what the requirements say."""
    place = PurePosixPath(path)
    allowed = {"p": may_show(access, place), "r": may_read(access, place), "w": may_write(access, place)}
    assert "".join(letter for letter, is_allowed in allowed.items() if is_allowed) == cell


@pytest.mark.parametrize(
    ("access", "memory_tools", "flush", "scopes"),
    [
        (MAIN, True, True, None),
        (GUEST, True, True, {GROUP_CHAT}),
        (GROUP, True, True, {GROUP_CHAT}),
        (GROUP_WITH_USER, True, True, {GROUP_CHAT}),
        (SUBAGENT, False, False, set()),
        (CRON, False, False, set()),
        (PRIVATE_CRON, True, False, None),
        (HEARTBEAT, True, False, None),
        (FULL_HEARTBEAT, True, False, None),
    ],
)
def test_memory_tools_flush_and_search_follow_the_matrix(
    access: Access, memory_tools: bool, flush: bool, scopes: set[Scope] | None
) -> None:
    """Each session type has the memory tools, the flush and the searchable audiences of its row."""
    row = rights(access)
    assert (row.memory_tools, row.flush, readable_scopes(access)) == (memory_tools, flush, scopes)


@pytest.mark.parametrize("grant", Grant)
def test_a_grant_widens_only_the_row_that_it_is_for(grant: Grant) -> None:
    """A guest or a subagent gains nothing from any grant."""
    for access in (GUEST, SUBAGENT, MAIN):
        assert rights(structs.replace(access, grants=frozenset({grant}))) == rights(access)


def test_a_chat_without_a_shared_audience_has_no_scope_of_its_own() -> None:
    """A group whose scope is private by mistake reads and writes no notes at all."""
    access = structs.replace(GROUP, scope=PRIVATE)
    assert readable_scopes(access) == frozenset()
    assert not may_read(access, PurePosixPath("memory/2026-03-01.md"))
    assert not may_write(access, PurePosixPath("memory/2026-03-01.md"))


@pytest.mark.parametrize("chat", ["telegram.home.-100", "Web.A/b", "web.é 日本", "a%2Fb", "..x", "UPPER"])
def test_a_scope_and_its_folder_lead_to_each_other(chat: str) -> None:
    """The folder of a chat's notes names that chat and is one folder below `memory/shared`."""
    scope = Scope(f"shared:{chat}")
    folder = scope_folder(scope)
    assert folder.parts[:2] == ("memory", "shared")
    assert len(folder.parts) == 3
    assert scope_of(folder / "2026-03-01.md") == scope


def test_chats_that_differ_in_case_have_folders_that_differ_in_more() -> None:
    """On a disk that ignores letter case two chats still have two folders."""
    assert scope_folder(Scope("shared:web.ab")).name != scope_folder(Scope("shared:web.aB")).name.casefold()


@pytest.mark.parametrize(
    "path",
    ["memory/shared/discord%2Ehome.7/x.md", "memory/shared/UPPER/x.md", "memory/shared/%FF/x.md", "memory/shared/x.md"],
)
def test_a_folder_with_another_spelling_belongs_to_no_chat(path: str) -> None:
    """Notes under a name that only decodes to a chat's are private: no search shows them to that chat."""
    assert scope_of(PurePosixPath(path)) == PRIVATE


@pytest.mark.parametrize("scope", [PRIVATE, Scope("shared:"), Scope("shared:.."), Scope("other:x")])
def test_only_a_shared_scope_has_a_folder(scope: Scope) -> None:
    """Asking for the folder of any other scope is a mistake of the program."""
    with pytest.raises(ValueError, match="no folder"):
        scope_folder(scope)


def test_an_access_cannot_be_stored() -> None:
    """Neither pickle nor copy makes a second access out of one."""
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never stored"):
            store(MAIN)


def test_the_other_chat_is_another_scope() -> None:
    """The table above speaks of two chats."""
    assert scope_of(PurePosixPath(OTHER) / "x.md") == OTHER_CHAT != GROUP_CHAT


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        (f"{OTHER}/2026-03-01.md", True),
        (f"{OWN}/plans/boat.md", True),
        ("SOUL.md", True),
        ("memory/shared/y.md", False),
        ("memory/shared/UPPER/x.md", False),
        ("memory/Shared/x/y.md", False),
    ],
)
def test_an_approved_change_may_go_where_a_chat_reads_it(path: str, is_allowed: bool) -> None:
    """Into a chat's own folder, under its one name; and nobody but a private turn is widened by it."""
    place = PurePosixPath(path)
    assert may_write(turn(SessionType.MAIN, Grant.APPROVED), place) is is_allowed
    for session_type in (SessionType.GROUP, SessionType.GUEST, SessionType.SUBAGENT, SessionType.CRON):
        assert may_write(turn(session_type, Grant.APPROVED), place) is may_write(turn(session_type), place)


@pytest.mark.parametrize(("reader", "is_house", "may"), [("here", True, True), ("elsewhere", False, True)])
def test_who_runs_here_may_know_all_and_others_what_has_no_mark(reader: str, is_house: bool, may: bool) -> None:
    """A provider elsewhere is never given text with the mark, and until it is known, a reader runs elsewhere."""
    assert may_know(Locality(reader), is_house=is_house) is may
    assert not may_know(Locality.ELSEWHERE, is_house=True)
    assert MAIN.reader is Locality.ELSEWHERE
    assert owner_access(MAIN.agent, "terminal:owner").reader is Locality.HERE


@pytest.mark.parametrize("chat", Locality)
@pytest.mark.parametrize("model", Locality)
def test_a_chat_carried_elsewhere_is_a_reader_elsewhere(chat: Locality, model: Locality) -> None:
    """Only where both run here, all may be known."""
    here = chat is Locality.HERE and model is Locality.HERE
    assert (reader_in(chat, model) is Locality.HERE) is here
