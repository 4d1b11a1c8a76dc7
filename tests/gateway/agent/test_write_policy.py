"""Which writes wait for the owner, for every kind of turn, file and state of trust."""

from pathlib import PurePosixPath

import pytest

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, TurnNoteEntry, Usage, UserEntry
from gateway.agent.write_policy import (
    ApprovalReason,
    is_from_outside,
    is_others_place,
    reason_to_ask,
    reason_to_ask_for_outgoing,
)
from tests.fakes.clock import START
from tests.workspaces.turns import (
    CRON,
    FULL_HEARTBEAT,
    GROUP,
    GROUP_WITH_USER,
    GUEST,
    HEARTBEAT,
    MAIN,
    OTHER,
    OWN,
    PRIVATE_CRON,
    SUBAGENT,
)
from workspaces.access import Access
from workspaces.history import Act

TABLE = f"""
                              trusted   exposed   deleted, trusted   deleted, exposed
AGENTS.md                     behaviour behaviour behaviour          behaviour
agents.MD                     behaviour behaviour behaviour          behaviour
SOUL.md                       behaviour behaviour behaviour          behaviour
IDENTITY.md                   behaviour behaviour behaviour          behaviour
TOOLS.md                      behaviour behaviour behaviour          behaviour
HEARTBEAT.md                  behaviour behaviour behaviour          behaviour
BOOT.md                       behaviour behaviour behaviour          behaviour
BOOTSTRAP.md                  behaviour behaviour -                  behaviour
skills/sail/SKILL.md          behaviour behaviour behaviour          behaviour
Skills/sail/data.csv          behaviour behaviour behaviour          behaviour
skills                        behaviour behaviour behaviour          behaviour
MEMORY.md                     -         untrusted -                  untrusted
memory.md                     -         untrusted -                  untrusted
Memory.md                     -         untrusted -                  untrusted
USER.md                       -         untrusted -                  untrusted
{OWN}/2026-03-01.md           shared    shared    shared             shared
{OTHER}/plan.md               shared    shared    shared             shared
memory/shared/y.md            -         -         -                  -
memory/Shared/x/y.md          -         -         -                  -
memory/2026-03-01.md          -         -         -                  -
memory/MEMORY.md              -         -         -                  -
plans/AGENTS.md               -         -         -                  -
plans/skills/sail.md          -         -         -                  -
attachments/plan.md           -         -         -                  -
"""
STATES = ((Act.WRITE, False), (Act.WRITE, True), (Act.DELETE, False), (Act.DELETE, True))
CELLS = [
    (line.split()[0], act, is_exposed, cell)
    for line in TABLE.strip().splitlines()[1:]
    for (act, is_exposed), cell in zip(STATES, line.split()[1:], strict=True)
]


@pytest.mark.parametrize("access", [MAIN, HEARTBEAT, FULL_HEARTBEAT, PRIVATE_CRON])
@pytest.mark.parametrize(("path", "act", "is_exposed", "cell"), CELLS)
def test_a_private_turn_asks_as_the_table_says(
    path: str, act: Act, is_exposed: bool, cell: str, access: Access
) -> None:
    """What is left to `Access` (a dash) is not therefore allowed: of `memory/shared` it takes whole chats only."""
    reason = reason_to_ask(access, PurePosixPath(path), act, is_exposed=is_exposed)
    assert (reason.value if reason else "-") == cell


@pytest.mark.parametrize("access", [GROUP, GROUP_WITH_USER, GUEST, SUBAGENT, CRON])
@pytest.mark.parametrize(("path", "act", "is_exposed", "_cell"), CELLS)
def test_other_turns_never_ask(path: str, act: Act, is_exposed: bool, _cell: str, access: Access) -> None:
    """Nothing of a group's, guest's or subagent's can wait for the owner: refused stays refused, like absent."""
    assert reason_to_ask(access, PurePosixPath(path), act, is_exposed=is_exposed) is None


def test_every_reason_is_told_in_words() -> None:
    """They end the sentence that the owner and the model read."""
    assert all(reason.in_words for reason in ApprovalReason)


SAID = UserEntry("hello", START, "", "1")
GIVEN = ResultEntry("c1", "read_file", "text", is_error=False)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (SAID, False),
        (UserEntry("hello", START, "", "1", from_outside=True), True),
        (GIVEN, False),
        (ResultEntry("c1", "read_file", "text", is_error=True, from_outside=True), True),
        (ReplyEntry("text", (), "model", Usage()), False),
        (CallStartEntry("c1"), False),
        (TurnNoteEntry("Today is Sunday."), False),
        (TurnNoteEntry("> L3: text", from_outside=True), True),
    ],
)
def test_messages_results_and_notes_say_where_they_are_from(entry: Entry, expected: bool) -> None:
    """Nothing else brings text from outside."""
    assert is_from_outside(entry) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("memory/shared", True),
        (f"{OTHER}/2026-03-01.md", True),
        ("memory/Shared/x/y.md", True),
        ("attachments", True),
        ("Attachments/letter.md", True),
        ("memory", False),
        ("memory/2026-03-01.md", False),
        ("plans/attachments/letter.md", False),
        (".", False),
    ],
)
def test_others_write_in_shared_notes_and_attachments(path: str, expected: bool) -> None:
    """In any letter case, as some file systems see no difference."""
    assert is_others_place(PurePosixPath(path)) is expected


@pytest.mark.parametrize(
    ("access", "waits"),
    [
        (MAIN, True),
        (HEARTBEAT, True),
        (PRIVATE_CRON, True),
        (SUBAGENT, True),
        (CRON, False),
        (GROUP, False),
        (GUEST, False),
    ],
)
def test_nothing_leaves_a_turn_with_private_text_and_others_words(access: Access, waits: bool) -> None:
    """A subagent's task may hold anything private, so it counts as such a turn; without others' words none waits."""
    asked = reason_to_ask_for_outgoing(access, is_exposed=True)
    assert asked is (ApprovalReason.UNTRUSTED if waits else None)
    assert reason_to_ask_for_outgoing(access, is_exposed=False) is None
