"""Handlers of the owner's: what they may do, and what happens when they do something else."""

import asyncio
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from gateway.errors import ConfigError, HookError
from gateway.hooks import (
    AGENT_BOOTSTRAP,
    FAILED,
    MESSAGE_SENDING,
    Bootstrap,
    Handler,
    Hook,
    HookEvent,
    Hooks,
    hook_faults,
    load_hooks,
    on,
)
from tests.fakes.packages import Install
from tests.fakes.patience import PATIENCE_S
from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile

RULES = BootstrapFile("AGENTS.md", "the rules")
EXTRA = BootstrapFile("TEAM.md", "the team")
PAYLOAD = Bootstrap("main", SessionType.MAIN, (RULES,), lambda _: None)
COUNTED: list[str] = []


async def count(reason: str) -> None:
    COUNTED.append(reason)


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    COUNTED.clear()


def hooks(*handlers: Handler[Bootstrap]) -> Hooks:
    named = [Hook("agent:bootstrap", f"test{number}", handler) for number, handler in enumerate(handlers)]
    return Hooks(named, count)


async def names(*handlers: Handler[Bootstrap]) -> list[str]:
    return [file.name for file in (await hooks(*handlers).tell(AGENT_BOOTSTRAP, PAYLOAD)).files]


def adds_team(event: Bootstrap) -> Bootstrap:
    return replace(event, files=(*event.files, EXTRA))


async def drops_rules(event: Bootstrap) -> Bootstrap:
    await asyncio.sleep(0)
    return replace(event, files=tuple(file for file in event.files if file.name != "AGENTS.md"))


def changes_nothing(_: Bootstrap) -> None:
    return None


async def test_handlers_add_replace_and_remove_in_order() -> None:
    """Each is given what the one before it gave back; plain functions and coroutine functions alike."""
    assert await names() == ["AGENTS.md"]
    assert await names(adds_team, drops_rules, changes_nothing) == ["TEAM.md"]
    assert COUNTED == []


def raises(_: Bootstrap) -> None:
    raise KeyError("x")


def gives(value: object) -> Handler[Bootstrap]:
    return lambda _: value


def gives_files(*files: object) -> Handler[Bootstrap]:
    return lambda event: replace(event, files=files)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        raises,
        gives("AGENTS.md"),
        gives([RULES]),
        lambda event: replace(event, agent="other"),
        lambda event: replace(event, session_type=SessionType.GROUP),
        lambda event: replace(event, read=lambda _: EXTRA),
        lambda event: replace(event, files=[EXTRA]),
        gives_files("TEAM.md"),
        gives_files(EXTRA, EXTRA),
        gives_files(*(replace(EXTRA, name=f"{number}.md") for number in range(51))),
        gives_files(replace(EXTRA, text=b"bytes")),  # type: ignore[arg-type]
        gives_files(replace(EXTRA, identity="7")),  # type: ignore[arg-type]
        gives_files(replace(EXTRA, text="x" * 1_000_001)),
        gives_files(replace(EXTRA, name="a\n## b")),
        gives_files(replace(EXTRA, name="../up.md")),
        gives_files(replace(EXTRA, name="./AGENTS.md")),
    ],
)
async def test_a_handler_that_fails_is_passed_over_and_counted(wrong: Handler[Bootstrap]) -> None:
    """What it did is dropped, its neighbours' work stays, and the ledger has its name."""
    assert await names(adds_team, wrong, drops_rules) == ["TEAM.md"]
    assert [f"{FAILED}.test1"] == COUNTED


async def test_a_handler_that_hangs_costs_a_deadline_once() -> None:
    """The turn goes on without it, the event loop is free meanwhile, and it is not started again while it hangs."""
    may_end, started = threading.Event(), []

    def hangs(_: Bootstrap) -> None:
        started.append(1)
        may_end.wait(PATIENCE_S)

    quick = structs.replace(AGENT_BOOTSTRAP, deadline_s=0.05)
    several = hooks(hangs, adds_team)
    try:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                assert len((await several.tell(quick, PAYLOAD)).files) == 2
    finally:
        may_end.set()
    assert len(started) == 1
    assert [f"{FAILED}.test0"] * 3 == COUNTED


async def test_where_handlers_decide_one_that_fails_stops_it() -> None:
    """The other rule: closed."""

    def checked(_: str, after: object) -> str:
        return str(after)

    deciding: HookEvent[str] = HookEvent("test:decides", checked, decides=True)
    failing = Hooks([Hook("test:decides", "bad", raises)], count)
    with pytest.raises(HookError, match="bad"):
        await failing.tell(deciding, "may it?")
    assert not failing.handles(AGENT_BOOTSTRAP)
    assert [f"{FAILED}.bad"] == COUNTED


# --- where they come from

FILE = """
from dataclasses import replace
from msgspec import structs
from gateway.hooks import AGENT_BOOTSTRAP, on
from workspaces.bootstrap import BootstrapFile

@on(AGENT_BOOTSTRAP)
def team(event):
    return replace(event, files=(*event.files, BootstrapFile("TEAM.md", "the team")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "hooks"
    folder.mkdir(mode=0o700)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("strandline_hook_"):
            del sys.modules[name]


def put(folder: Path, name: str, text: str = FILE, mode: int = 0o600) -> None:
    (folder / name).write_text(text, "utf-8")
    (folder / name).chmod(mode)


async def test_a_plain_file_is_a_hook(folder: Path) -> None:
    """In order of name; without the folder there are none."""
    put(folder, "b.py")
    put(folder, "a.py")
    found = load_hooks(folder)
    assert [hook.source for hook in found] == ["a.py:team", "b.py:team"]
    changed = await Hooks(found[:1], count).tell(AGENT_BOOTSTRAP, PAYLOAD)
    assert [file.name for file in changed.files] == ["AGENTS.md", "TEAM.md"]
    assert load_hooks(folder / "none") == []


@on(AGENT_BOOTSTRAP)
def from_a_package(_: Bootstrap) -> None:
    return None


def test_a_package_brings_hooks_by_its_entry_points(folder: Path, install: Install) -> None:
    """They come before the files; two packages may use one name."""
    put(folder, "a.py")
    for package in ("one", "two"):
        install(package, f"[strandline.hooks]\nextra = {__name__}:from_a_package\n", "")
    assert [hook.source for hook in load_hooks(folder)] == ["extra:from_a_package"] * 2 + ["a.py:team"]
    assert hook_faults() == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("def guard(event): ...", "the hook guard marks no function with @on"),
    ],
)
async def test_a_packages_hook_that_cannot_be_loaded_fails_where_it_may_have_decided(
    folder: Path, install: Install, code: str, said: str
) -> None:
    """It stops no start; its sentence names the package; what it may have guarded does not happen."""
    put(folder, "a.py")
    install("house-rules", "[strandline.hooks]\nguard = house_rules\n", code)
    hooks = Hooks(load_hooks(folder), count)
    (fault,) = hook_faults()
    assert fault.startswith('house-rules: the entry point "guard" of strandline.hooks (house_rules) cannot be loaded: ')
    assert said in fault
    assert fault.endswith("pip uninstall house-rules")
    assert MESSAGE_SENDING.sample is not None
    with pytest.raises(HookError, match="the hook guard failed"):
        await hooks.tell(MESSAGE_SENDING, MESSAGE_SENDING.sample)
    assert (await hooks.tell(AGENT_BOOTSTRAP, PAYLOAD)).files[-1].name == "TEAM.md"


def others_write(folder: Path) -> None:
    folder.chmod(0o770)


def others_write_the_file(folder: Path) -> None:
    put(folder, "a.py", mode=0o666)


def a_link(folder: Path) -> None:
    put(folder.parent, "elsewhere.py")
    (folder / "b.py").symlink_to(folder.parent / "elsewhere.py")


def broken(folder: Path) -> None:
    put(folder, "a.py", "def (")


def unmarked(folder: Path) -> None:
    put(folder, "a.py", "def team(event): ...")


@pytest.mark.parametrize("fault", [others_write, others_write_the_file, a_link, broken, unmarked])
def test_what_cannot_be_trusted_or_loaded_stops_the_start(folder: Path, fault: Callable[[Path], None]) -> None:
    """With one line that names the file; nothing of it runs."""
    put(folder, "a.py")
    fault(folder)
    with pytest.raises(ConfigError, match=r"hooks|\.py"):
        load_hooks(folder)


def test_the_homes_folder_for_hooks_is_safe_as_people_make_it(folder: Path) -> None:
    """A folder of mode 0700 and a file of mode 0644, as an editor writes it, are taken."""
    put(folder, "a.py", mode=0o644)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(load_hooks(folder)) == 1
