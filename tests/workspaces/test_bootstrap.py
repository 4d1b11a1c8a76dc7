"""The prompt shows the files of the turn's row, in order, within the limits, and nothing by a detour."""

from dataclasses import replace
from datetime import date
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.workspaces.turns import (
    AGENT,
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
from workspaces.access import Access, AgentId
from workspaces.bootstrap import BootstrapFile, bootstrap_files, choose, extents, filter_for, fit, gather, hidden_files
from workspaces.prompt_limits import ONECLAW, BootstrapRole, Limits
from workspaces.starting_files import starting_text
from workspaces.workspace import Workspace

TODAY = date(2026, 3, 1)
FILES = [
    *("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md"),
    *("MEMORY.md", "memory/2026-03-01.md", "memory/2026-02-28.md", "memory/2026-02-27.md", "memory/2026-03-01-x.md"),
    *(f"{OWN}/2026-03-01.md", f"{OWN}/2026-02-28.md", f"{OWN}/plan.md", f"{OTHER}/2026-03-01.md"),
]


def put(home: Path, path: str, text: str) -> None:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path in FILES:
        put(tmp_path / "workspace", path, f"text of {path}")
    return tmp_path / "workspace"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace.open(home, AGENT)


def shown(workspace: Workspace, access: Access, limits: Limits = Limits()) -> list[str]:  # noqa: B008  # frozen
    return [file.name for file in bootstrap_files(workspace, access, TODAY, limits)]


PERSONA = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md"]
DAYS = ["memory/2026-03-01.md", "memory/2026-02-28.md"]
OWN_DAYS = [f"{OWN}/2026-03-01.md", f"{OWN}/2026-02-28.md"]


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (MAIN, [*PERSONA, "USER.md", "BOOTSTRAP.md", "MEMORY.md", *DAYS]),
        (GUEST, [*PERSONA, *OWN_DAYS]),
        (GROUP, [*PERSONA, *OWN_DAYS]),
        (GROUP_WITH_USER, [*PERSONA, "USER.md", *OWN_DAYS]),
        (SUBAGENT, ["AGENTS.md", "TOOLS.md"]),
        (CRON, ["AGENTS.md", "TOOLS.md"]),
        (PRIVATE_CRON, ["AGENTS.md", "TOOLS.md", "MEMORY.md", *DAYS]),
        (HEARTBEAT, ["HEARTBEAT.md"]),
        (FULL_HEARTBEAT, [*PERSONA, "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md", *DAYS]),
        (structs.replace(MAIN, agent=AgentId("other")), []),
    ],
)
def test_each_session_type_is_shown_its_files_in_order(workspace: Workspace, access: Access, names: list[str]) -> None:
    """What goes into the prompt is the row of the matrix, in the order that it is read in."""
    assert shown(workspace, access) == names
    for file in bootstrap_files(workspace, access, TODAY, Limits()):
        assert file.text == f"text of {file.name}"


def test_the_days_can_be_left_out(workspace: Workspace) -> None:
    """The switch takes the days' notes out of the prompt, private and shared."""
    assert shown(workspace, MAIN, Limits(daily_notes_in_prompt=False))[-1] == "MEMORY.md"
    assert shown(workspace, GROUP, Limits(daily_notes_in_prompt=False)) == PERSONA


def test_a_small_window_shrinks_all_limits_alike() -> None:
    """A quarter of the total is a quarter of each share; a large window changes nothing."""
    assert Limits().within(24_000) == Limits()
    small = Limits().within(6_000)
    assert (small.total_chars, small.file_chars, small.memory_share_chars) == (6_000, 6_000, 2_000)
    assert (small.today_chars, small.yesterday_chars, small.file_share_chars) == (1_000, 500, 125)


def test_the_alias_of_memory_counts_where_the_name_is_missing(workspace: Workspace, home: Path) -> None:
    """`memory.md` is memory, and beside `MEMORY.md` it is not shown."""
    put(home, "memory.md", "alias")
    assert "memory.md" not in shown(workspace, MAIN)
    (home / "MEMORY.md").unlink()
    assert "memory.md" in shown(workspace, MAIN)
    assert "memory.md" not in shown(workspace, GROUP)


def test_what_is_missing_empty_or_no_text_spoils_nothing(workspace: Workspace, home: Path) -> None:
    """Missing and empty files are left out, a binary one says so, and a byte order mark is not shown."""
    (home / "SOUL.md").unlink()
    (home / "TOOLS.md").write_text(" \n")
    (home / "IDENTITY.md").write_bytes(b"\xff\xfe\0")
    (home / "AGENTS.md").write_bytes(b"\xef\xbb\xbfrules")
    texts = {
        file.name: file.text for file in bootstrap_files(workspace, GROUP, TODAY, Limits(daily_notes_in_prompt=False))
    }
    assert texts == {"AGENTS.md": "rules", "IDENTITY.md": "[not shown: IDENTITY.md is not UTF-8 text (byte 0)]"}


def test_blank_forms_are_named_and_take_no_room(workspace: Workspace, home: Path) -> None:
    """Their text is left out until it holds an entry, and leaves its room to other files; nothing counts as cut."""
    for name in ("TOOLS.md", "MEMORY.md"):
        put(home, name, starting_text(name))
    put(home, "IDENTITY.md", starting_text("IDENTITY.md").replace("Name:", "Name: Wren"))
    put(home, "AGENTS.md", "x" * 1_000)
    rules, tools = bootstrap_files(workspace, SUBAGENT, TODAY, Limits(total_chars=1_000))
    assert (len(rules.text), tools) == (1_000, replace(tools, name="TOOLS.md", text="", is_blank=True))
    files = {file.name: file for file in bootstrap_files(workspace, MAIN, TODAY, Limits())}
    assert [file.name for file in files.values() if file.is_blank] == ["TOOLS.md", "MEMORY.md"]
    assert "- Name: Wren" in files["IDENTITY.md"].text
    assert not any(each.missing for each in extents(workspace, MAIN, TODAY, Limits()))


def test_an_empty_text_of_a_hook_is_no_blank_form(workspace: Workspace) -> None:
    """It is left out, name and all."""
    assert choose(workspace, MAIN, [BootstrapFile("USER.md", "")], Limits()) == []


@pytest.mark.parametrize("access", [GROUP, GUEST, GROUP_WITH_USER, SUBAGENT, CRON])
def test_private_files_change_nothing_in_what_others_are_shown(home: Path, access: Access) -> None:
    """With other private texts, or none, long or short, each file that others see is the same to the byte."""
    workspace = Workspace.open(home, AGENT)
    put(home, f"{OWN}/2026-03-01.md", "shared\n" * 1_000)
    before = [(file.name, file.text) for file in bootstrap_files(workspace, access, TODAY, Limits())]
    for private in ("MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md", *DAYS, f"{OTHER}/2026-03-01.md", "plans/new.md"):
        put(home, private, "private\n" * 10_000)
    (home / "memory/2026-02-28.md").unlink()
    assert [(file.name, file.text) for file in bootstrap_files(workspace, access, TODAY, Limits())] == before


@pytest.mark.parametrize("access", [GROUP, GUEST, SUBAGENT])
def test_no_name_brings_a_private_file_in(workspace: Workspace, access: Access) -> None:
    """After a hook, a file is judged again by its name and by which file on disk it is."""
    private = {file.name: file for file in gather(workspace, MAIN, TODAY, Limits())}
    sneaked = [replace(private[name], name="AGENTS.md") for name in ("MEMORY.md", *DAYS)]
    hidden = hidden_files(workspace, access, sneaked)
    honest = BootstrapFile("AGENTS.md", "a hook's own rules")
    assert filter_for(access, [*private.values(), *sneaked, honest], hidden)[-1] == honest
    names = [file.name for file in filter_for(access, [*sneaked, *private.values()], hidden)]
    assert set(names) <= set(PERSONA)
    assert names.count("AGENTS.md") == 1
    added = [BootstrapFile(name, "x") for name in ("MEMORY.md", "memory/x.md", "TEAM.md", f"{OTHER}/x.md")]
    assert filter_for(access, added, hidden) == []


def test_a_hook_widens_no_light_heartbeat() -> None:
    """A heartbeat that is light shows `HEARTBEAT.md` alone, whatever is added."""
    added = [BootstrapFile(name, "x") for name in ("HEARTBEAT.md", "AGENTS.md", "MEMORY.md", "memory/2026-03-01.md")]
    assert [file.name for file in filter_for(HEARTBEAT, added, frozenset())] == ["HEARTBEAT.md"]


def test_limits_hold_for_files_days_and_total(workspace: Workspace, home: Path) -> None:
    """A file is cut to 20,000 characters, today to 4,000, yesterday to 2,000, everything to 24,000."""
    for name in ("AGENTS.md", *DAYS):
        put(home, name, "x" * 30_000)
    wide = Limits(total_chars=100_000)
    sizes = {file.name: len(file.text) for file in bootstrap_files(workspace, MAIN, TODAY, wide)}
    for name, limit in zip(("AGENTS.md", *DAYS), (20_000, 4_000, 2_000), strict=True):
        assert limit * 0.9 < sizes[name] <= limit
    put(home, "MEMORY.md", "y" * 30_000)
    files = bootstrap_files(workspace, MAIN, TODAY, Limits())
    assert sum(len(file.text) for file in files) <= 24_000
    assert [file.name for file in files if file.is_cut] == ["AGENTS.md", "MEMORY.md", *DAYS]
    assert [len(file.text) < 100 for file in files] == [False, *[True] * 5, False, False, False]
    assert all(f'read_file("{file.name}"' in file.text for file in files if file.is_cut)


def test_extents_are_what_the_prompt_shows(workspace: Workspace, home: Path) -> None:
    """Of each lasting file, cut or whole; of days' notes, which are long on a busy day, nothing is said."""
    for name in ("MEMORY.md", *DAYS):
        put(home, name, "x" * 30_000)
    found = {each.name: each for each in extents(workspace, MAIN, TODAY, Limits())}
    shown = {file.name: len(file.text) for file in bootstrap_files(workspace, MAIN, TODAY, Limits())}
    assert {name: each.shown for name, each in found.items()} == {
        name: size for name, size in shown.items() if name not in DAYS
    }
    assert [name for name, each in found.items() if each.missing] == ["MEMORY.md"]
    assert found["MEMORY.md"].length == 30_000
    oneclaw = {each.name: each.shown for each in extents(workspace, MAIN, TODAY, ONECLAW)}
    assert oneclaw["MEMORY.md"] == 4_000


def test_a_file_without_any_room_has_no_extent_shown(workspace: Workspace, home: Path) -> None:
    """It is not in the prompt at all, and all of it is missing."""
    put(home, "AGENTS.md", "x" * 30_000)
    put(home, "MEMORY.md", "y" * 100)
    found = extents(workspace, MAIN, TODAY, Limits(total_chars=300, memory_share_chars=0, file_share_chars=0))
    assert next(each.missing for each in found if each.name == "MEMORY.md") == 100


@pytest.mark.parametrize("share", [0, 2_000, 8_000])
def test_memory_cannot_be_squeezed_out(workspace: Workspace, home: Path, share: int) -> None:
    """However long the files before it are, `MEMORY.md` keeps its share, the days theirs, and nobody is pushed out."""
    for name in (*PERSONA, "USER.md", "BOOTSTRAP.md", "MEMORY.md", *DAYS):
        put(home, name, "x" * 20_000)
    limits = Limits(memory_share_chars=share)
    files = {file.name: file.text for file in bootstrap_files(workspace, MAIN, TODAY, limits)}
    for name, least in (("MEMORY.md", share), ("USER.md", 500), (DAYS[0], 4_000), (DAYS[1], 2_000)):
        assert len(files.get(name, "")) >= least * 0.85, name
    assert 22_000 < sum(map(len, files.values())) <= 24_000


FILE_LISTS = st.lists(
    st.builds(BootstrapFile, st.just("a.md"), st.integers(1, 900).map("x".__mul__), st.sampled_from(BootstrapRole)),
    max_size=8,
)


@given(FILE_LISTS, st.integers(0, 3_000))
def test_any_files_fit_any_total(files: list[BootstrapFile], total: int) -> None:
    """Nothing is longer than its limit or the total, and what fits is whole."""
    limits = Limits(800, total, 400, 300, memory_share_chars=200, file_share_chars=50)
    fitted = fit(files, limits)
    assert sum(len(file.text) for file in fitted) <= total
    assert all(len(file.text) <= limits.of(file.part) for file in fitted)
    assert all(file.is_cut or file in files for file in fitted)
    if sum(len(file.text) for file in files) <= total and all(len(each.text) <= limits.of(each.part) for each in files):
        assert fitted == files


@given(FILE_LISTS)
def test_a_reserve_holds_whatever_comes_before(files: list[BootstrapFile]) -> None:
    """Memory that comes last gets its share of a total that holds the reserves."""
    limits = Limits(800, 2_000, 200, 100, memory_share_chars=500, file_share_chars=50)
    memory = BootstrapFile("MEMORY.md", "y" * 500, BootstrapRole.MEMORY)
    fitted = fit([*(file for file in files if file.part is not BootstrapRole.MEMORY), memory], limits)
    assert fitted[-1] == memory


def test_the_oneclaw_preset_has_its_numbers_and_its_look(workspace: Workspace, home: Path) -> None:
    """Memory and days stand in one block between the markers, cut at 4,000, 4,000 and 2,000 from the end."""
    for name in ("MEMORY.md", *DAYS):
        put(home, name, f"{name[:1]}" + "x" * 9_000)
    *others, block = bootstrap_files(workspace, MAIN, TODAY, ONECLAW)
    assert [file.name for file in others] == [*PERSONA, "USER.md", "BOOTSTRAP.md"]
    assert (block.name, block.is_cut) == ("Memory", True)
    assert block.text.startswith("--- Your Memory ---\nMEMORY.md\nMxxx")
    assert block.text.endswith("[...truncated]\n--- Your Memory ---")
    sections = [len(part.split("\n", 1)[1]) for part in block.text[20:-20].split("\n\n")]
    assert sections == [4_000, 4_000, 2_000]


def test_the_oneclaw_preset_without_memory_has_no_block(workspace: Workspace, home: Path) -> None:
    """No memory file, no markers; a blank one is named like any other."""
    for name in ("MEMORY.md", *DAYS):
        (home / name).unlink()
    assert shown(workspace, MAIN, ONECLAW) == [*PERSONA, "USER.md", "BOOTSTRAP.md"]
    (home / "MEMORY.md").write_text(starting_text("MEMORY.md"))
    assert shown(workspace, MAIN, ONECLAW) == [*PERSONA, "USER.md", "BOOTSTRAP.md", "MEMORY.md"]


def test_a_file_without_room_is_dropped() -> None:
    """Where a total is used up, what is left has no text."""
    files = [BootstrapFile("a", "x" * 10), BootstrapFile("b", "y"), BootstrapFile("c", "z", BootstrapRole.MEMORY)]
    fitted = fit(files, Limits(total_chars=10, memory_share_chars=1, file_share_chars=0))
    assert [(file.name, len(file.text)) for file in fitted] == [("a", 9), ("c", 1)]


def test_what_is_hidden_from_a_group_is_every_file_that_it_may_not_read(workspace: Workspace) -> None:
    """The hidden set is known by inode, so no other name of such a file passes."""
    root = workspace.folder.root
    files = gather(workspace, GROUP, TODAY, Limits())
    assert hidden_files(workspace, GROUP, files) == frozenset()
    (root / "AGENTS.md").rename(root / "saved")
    (root / "saved").with_name("AGENTS.md").write_text("saved anew")
    hidden = {identity.inode for identity in hidden_files(workspace, GROUP, files)}
    readable = {*PERSONA, *OWN_DAYS, f"{OWN}/plan.md"}
    private = {*FILES, "saved"} - readable
    assert hidden == {(root / PurePosixPath(name)).stat().st_ino for name in private}


def test_a_file_that_is_left_out_says_so_to_those_who_may_know(workspace: Workspace, home: Path) -> None:
    """Memory is not just gone when its file has a second name; a group sees no more than where there is none."""
    for name in ("AGENTS.md", "MEMORY.md"):
        (home.parent / name).hardlink_to(home / name)
    shown = {file.name: file.text for file in bootstrap_files(workspace, MAIN, TODAY, Limits())}
    assert shown["MEMORY.md"] == shown["AGENTS.md"] == "[left out: it has 2 names (hard links)]"
    group = {file.name for file in bootstrap_files(workspace, GROUP, TODAY, Limits())}
    (home / "AGENTS.md").unlink()
    assert {file.name for file in bootstrap_files(workspace, GROUP, TODAY, Limits())} == group
