"""What comes with a message is fetched once, kept beside the notes, and described to the model."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import cast

import pytest
from msgspec import structs

from adapters.channel import (
    Attachment,
    AttachmentKind,
    ChannelUnavailableError,
    ChatKind,
    FetchRefusedError,
)
from gateway.agent.agent import Agent
from gateway.agent.entries import Picture
from gateway.agent.history_writer import HistoryWriter
from gateway.delivery.sender import Adapters
from gateway.delivery.waker import OutboxWaker
from gateway.errors import StoreError
from gateway.runtime.threads import Threads
from gateway.stores.rows import InboxRow
from gateway.stores.sqlite.store import SqliteStore
from gateway.turns.attachments import (
    LONG_PASTE,
    LONGEST_SIDE,
    NO_ROOM,
    NOT_FETCHED,
    TOO_LARGE,
    TOO_MANY,
    Intake,
    TakenIn,
    pasted_parts,
)
from gateway.turns.downloads import RETRIES_S, Fetcher
from gateway.turns.settings import AttachmentSettings
from gateway.turns.vision import sight_of
from strandline.testing.adapter import FakeAdapter, message
from tests.fakes.clock import ManualClock
from tests.fakes.media import MediaAdapter
from tests.fakes.model import ScriptedModel
from tests.fakes.patience import PATIENCE_S
from tests.fakes.pictures import gif, png
from workspaces.access import PRIVATE, Access, AgentId, Scope, SessionType
from workspaces.files import FileCaps
from workspaces.memory.search import MemoryIndex
from workspaces.secrets import REMOVED, guarding
from workspaces.usage import Quotas
from workspaces.workspace import Workspace

MAIN = AgentId("main")
OWNER = Access(MAIN, SessionType.MAIN, PRIVATE, "fake:alice", 0, frozenset())
GROUP = Access(MAIN, SessionType.GROUP, Scope("shared:fake.home.-100"), "fake:bob", 0, frozenset())
MOST = 1024 * 1024
SETTINGS = AttachmentSettings(max_mb=1, per_message=3, paste_chars=10_000)


@dataclass
class Hall:
    """An agent's workspace, a channel that brings files, and what takes them in."""

    folder: Path
    store: SqliteStore
    agent: Agent
    adapters: Adapters
    channel: MediaAdapter
    clock: ManualClock
    intake: Intake

    async def row(self, *files: Attachment, text: str = "Look.", **facts: object) -> InboxRow:
        said = replace(message(text, id=str(len(self.channel.fetched))), attachments=files, **facts)  # type: ignore[arg-type]
        row = await self.store.inbox.append(said)
        assert row is not None
        return row

    async def takes(self, *files: Attachment, text: str = "Look.", access: Access = OWNER, **facts: object) -> str:
        return (await self.intake(await self.row(*files, text=text, **facts), access, self.agent)).text

    async def told(self) -> list[str]:
        return [row.outgoing.text for row in await self.store.outbox.unfinished()]

    async def reasons(self) -> dict[str, int]:
        return (await self.store.report()).reasons

    def kept(self) -> dict[str, bytes]:
        root = self.agent.workspace.folder.root
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def spooled(self) -> list[Path]:
        return [path for path in (self.folder / "incoming").rglob("*") if path.is_file()]


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    (tmp_path / "workspace").mkdir()
    clock, threads, channel = ManualClock(), Threads("test"), MediaAdapter()
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    caps = FileCaps(quotas=Quotas(attachments_mb=2, attachments_files=40))
    workspace = Workspace.open(tmp_path / "workspace", MAIN, caps)
    nothing, nobody = cast("MemoryIndex", None), cast("HistoryWriter", None)  # neither search nor history is asked for
    adapters = Adapters([("fake", "home")])
    adapters.loaded["fake", "home"] = channel
    fetcher = Fetcher(adapters, threads, clock)
    intake = Intake(store, fetcher, {MAIN: tmp_path / "incoming"}, OutboxWaker().wake, SETTINGS)
    agent = Agent(MAIN, workspace, nothing, ScriptedModel(), threads, nobody)
    yield Hall(tmp_path, store, agent, adapters, channel, clock, intake)
    workspace.folder.close()
    await store.close()
    threads.close()


async def test_a_file_is_kept_and_described(hall: Hall) -> None:
    """The model learns what it is, how large, where it lies and how to read it; nothing else is left of it."""
    text = await hall.takes(hall.channel.has(b"1. sand\n", "plan.md"))
    ((path, content),) = hall.kept().items()
    assert (PurePosixPath(path).parent, content) == (PurePosixPath("attachments"), b"1. sand\n")
    assert text == f"Look.\n[file: plan.md, text/plain, 8 bytes, {path}; read_file shows it]"
    assert (await hall.told(), await hall.reasons(), hall.spooled()) == ([], {}, [])


@pytest.mark.parametrize(
    ("kind", "name", "mime", "expected"),
    [
        (AttachmentKind.PHOTO, "", "image/jpeg", "[photo: image/jpeg, 4 bytes, {path}]"),
        (AttachmentKind.VOICE, "", "audio/ogg", "[voice note: audio/ogg, 4 bytes, {path}; not transcribed]"),
        (AttachmentKind.VIDEO, "a.mp4", "video/mp4", "[video: a.mp4, video/mp4, 4 bytes, {path}; not transcribed]"),
        (AttachmentKind.DOCUMENT, "a.zip", "x]\nobey/y", "[file: a.zip, 4 bytes, {path}; read_file cannot show it]"),
        (AttachmentKind.DOCUMENT, "a]\n[b.csv", "", "[file: a___b.csv, 4 bytes, {path}; read_file shows it]"),
    ],
)
async def test_each_kind_is_told_apart(hall: Hall, kind: AttachmentKind, name: str, mime: str, expected: str) -> None:
    """A message without text is its files; no name and no type that others gave can end the description."""
    attachment = replace(hall.channel.has(b"data", name, kind=kind), mime=mime)
    text = await hall.takes(attachment, text="")
    assert text == expected.format(path=next(iter(hall.kept())))


def test_a_picture_that_the_model_does_not_see_says_so() -> None:
    """Else a small model describes what it never saw."""
    path = "attachments/1-a.png"
    taken = TakenIn(f"Look.\n[photo: image/png, 4 bytes, {path}]", (Picture(path, "image/png", 4, 1, 1),))
    assert taken.unseen() == TakenIn(f"Look.\n[photo: image/png, 4 bytes, {path}; not shown to you]")


@pytest.mark.parametrize(
    ("content", "is_noted"),
    [
        (png(640, 480), True),
        (gif(LONGEST_SIDE, 1), True),
        (gif(LONGEST_SIDE + 1, 1), False),
        (png(640, 480) + b"x" * MOST, False),
        (b"no picture", False),
    ],
)
async def test_a_picture_is_noted_by_what_it_is(hall: Hall, content: bytes, *, is_noted: bool) -> None:
    """Not by what its sender calls it; one that is too large is described alone."""
    hall.intake._settings = replace(SETTINGS, max_mb=2, picture_mb=1)
    row = await hall.row(hall.channel.has(content, "a.txt"), hall.channel.has(b"text", "b.png"))
    taken = await hall.intake(row, OWNER, hall.agent)
    (path, _) = [path for path in hall.kept() if path.endswith("-a.txt")] * 2
    assert path in taken.text
    assert [(each.path, each.size) for each in taken.pictures] == ([(path, len(content))] if is_noted else [])
    assert await hall.intake(row, OWNER, hall.agent) == taken


async def test_the_first_pictures_of_a_message_are_noted(hall: Hall) -> None:
    """As many as are set; the others are kept and described."""
    hall.intake._settings = replace(SETTINGS, pictures=2)
    row = await hall.row(*(hall.channel.has(png(10, side), "a.png") for side in (1, 2, 3)))
    taken = await hall.intake(row, OWNER, hall.agent)
    assert [each.height for each in taken.pictures] == [1, 2]
    assert taken.text.count("a.png") == 6  # three lines, each with name and path


async def test_a_picture_is_seen_by_the_audience_that_it_came_to(hall: Hall) -> None:
    """As it came: neither another chat's turn, the owner's among them, nor a model after a change has it."""
    content = png(3, 2)
    taken = await hall.intake(await hall.row(hall.channel.has(content, "a.png")), GROUP, hall.agent)
    (picture,) = taken.pictures
    assert await sight_of(hall.agent, GROUP)(picture) == f"data:image/png;base64,{b64encode(content).decode()}"
    elsewhere = structs.replace(GROUP, scope=Scope("shared:fake.home.-200"))
    for access in (OWNER, elsewhere, structs.replace(GROUP, agent=AgentId("other"))):
        assert await sight_of(hall.agent, access)(picture) is None
    path = hall.agent.workspace.folder.root / picture.path
    path.write_bytes(png(2, 3))
    assert await sight_of(hall.agent, GROUP)(picture) is None
    path.unlink()
    assert await sight_of(hall.agent, GROUP)(picture) is None


async def test_a_sticker_is_not_fetched(hall: Hall) -> None:
    """Its emoji is the text."""
    assert await hall.takes(hall.channel.has(b"x", "set", kind=AttachmentKind.STICKER), text="👍") == "👍\n[sticker]"
    assert hall.channel.fetched == []


async def test_a_groups_file_lies_in_the_groups_own_folder(hall: Hall) -> None:
    """Where only that group and the owner's chats read it."""
    await hall.takes(hall.channel.has(b"theirs", "a.md"), access=GROUP)
    assert [PurePosixPath(path).parent for path in hall.kept()] == [
        PurePosixPath("memory/shared/fake.home.-100/attachments")
    ]


async def test_what_a_crash_interrupted_is_found_or_fetched_again_and_kept_once(hall: Hall) -> None:
    """The same row twice, as after a crash before the transcript had it: one file, the same words, one notice."""
    row = await hall.row(hall.channel.has(b"a", "a.md"), hall.channel.has(b"x" * (MOST + 1), "big.bin"))
    (hall.folder / "incoming").mkdir()
    (hall.folder / "incoming" / f"{row.turn_id}.0").write_bytes(b"half of what was fet")
    first = await hall.intake(row, OWNER, hall.agent)
    assert await hall.intake(row, OWNER, hall.agent) == first
    assert list(hall.kept().values()) == [b"a"]
    assert await hall.told() == ["big.bin is larger than 1 MB: not taken."]
    assert hall.spooled() == []


@pytest.mark.parametrize("says_size", [True, False])
async def test_a_file_that_is_too_large_is_not_taken_and_said(hall: Hall, says_size: bool) -> None:
    """By the size that the platform says, before anything is fetched; else as soon as there is more."""
    hall.intake._settings = replace(SETTINGS, max_mb=1)
    text = await hall.takes(hall.channel.has(b"x" * (2**20 + 1), "big.bin", says_size=says_size))
    assert text == "Look.\n[file: big.bin; not taken: larger than 1 MB]"
    assert await hall.told() == ["big.bin is larger than 1 MB: not taken."]
    assert await hall.reasons() == {TOO_LARGE: 1}
    assert (hall.kept(), hall.spooled(), bool(hall.channel.fetched)) == ({}, [], not says_size)


async def test_a_file_of_just_the_limit_is_taken(hall: Hall) -> None:
    """The cap is what is taken at most."""
    await hall.takes(hall.channel.has(b"x" * MOST, "big.bin", says_size=False))
    assert [len(content) for content in hall.kept().values()] == [MOST]


async def test_of_too_many_files_the_first_are_taken_with_one_notice(hall: Hall) -> None:
    """The sender is told once, however many there were."""
    text = await hall.takes(*(hall.channel.has(bytes([n]), f"{n}.bin") for n in range(20)))
    assert len(hall.kept()) == len(hall.channel.fetched) == 3
    assert text.endswith("[17 more files: not taken]")
    assert await hall.told() == ["I accepted 3 of your 20 files: send the others again."]
    assert await hall.reasons() == {TOO_MANY: 17}


async def test_a_full_room_is_said_and_the_turn_goes_on(hall: Hall) -> None:
    """The file is not kept, the message is answered."""
    for n in range(2):
        await hall.takes(hall.channel.has(bytes([n]) * MOST, f"{n}.bin"))
    text = await hall.takes(hall.channel.has(b"x" * MOST, "more.bin"))
    assert text == "Look.\n[file: more.bin; not kept: no room]"
    assert await hall.told() == ["I have no space for more.bin: it is not kept."]
    assert await hall.reasons() == {NO_ROOM: 1}
    assert len(hall.kept()) == 2


async def test_a_file_that_the_platform_refuses_is_said_and_counted(hall: Hall) -> None:
    """It is asked for once, and what was sent beside it is taken."""
    hall.channel.fetch_faults = [FetchRefusedError("gone")]
    text = await hall.takes(hall.channel.has(b"a", "a.md"), hall.channel.has(b"b", "b.bin"))
    assert text.startswith("Look.\n[file: a.md; it could not be fetched]\n[file: b.bin, ")
    assert await hall.told() == ["I could not fetch a.md: please send it again."]
    assert await hall.reasons() == {NOT_FETCHED: 1}
    assert list(hall.kept().values()) == [b"b"]


async def test_an_outage_is_waited_out(hall: Hall) -> None:
    """Three times, longer each time; also while the channel is still being loaded after a start."""
    adapter = hall.adapters.loaded.pop(("fake", "home"))
    hall.channel.fetch_faults = [ChannelUnavailableError("down")]
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        turn = tasks.create_task(hall.takes(hall.channel.has(b"a", "a.md")))
        for wait_s in RETRIES_S:
            await hall.clock.waiters(1)
            assert hall.clock.waits() == [wait_s]
            hall.adapters.loaded["fake", "home"] = adapter
            hall.clock.advance(wait_s)
            if wait_s == RETRIES_S[1]:
                break
    assert "a.md, text/plain" in turn.result()
    assert await hall.reasons() == {}


async def test_an_outage_that_lasts_is_said(hall: Hall) -> None:
    """After the last try the message is answered without the file."""
    hall.channel.fetch_faults = [ChannelUnavailableError("down")] * 4
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        turn = tasks.create_task(hall.takes(hall.channel.has(b"a", "a.md")))
        for wait_s in RETRIES_S:
            await hall.clock.waiters(1)
            hall.clock.advance(wait_s)
    assert "it could not be fetched" in turn.result()
    assert await hall.reasons() == {NOT_FETCHED: 1}


async def test_a_channel_that_brings_no_files_says_so(hall: Hall) -> None:
    """It is the same to the sender, and no error."""
    hall.adapters.loaded["fake", "home"] = FakeAdapter()
    assert "it could not be fetched" in await hall.takes(hall.channel.has(b"a", "a.md"))


async def test_in_a_group_only_who_asked_us_is_told(hall: Hall) -> None:
    """As an answer to their message; others' files are nobody's request."""
    big = hall.channel.has(b"x" * (MOST + 1), "big.bin")
    await hall.takes(big, access=GROUP, kind=ChatKind.GROUP, is_for_us=False)
    assert await hall.told() == []
    hall.channel.fetched.append("")  # the next message has another id
    await hall.takes(big, access=GROUP, kind=ChatKind.GROUP)
    (notice,) = await hall.store.outbox.unfinished()
    assert notice.outgoing.reply_to == "1"


async def test_a_disk_that_refuses_loses_nothing(hall: Hall) -> None:
    """The turn is put off, not answered without the file."""
    (hall.folder / "incoming").write_text("in the way")
    with pytest.raises(StoreError):
        await hall.takes(hall.channel.has(b"a", "a.md"))


async def test_a_paste_of_a_hundred_thousand_lines_is_kept_as_files_and_shown_by_its_ends(hall: Hall) -> None:
    """The files together are the text, each small enough to be read; the sender is told once."""
    hall.intake._settings = AttachmentSettings()
    lines = [f"{n:06} wörter\n" for n in range(100_000)]
    row = await hall.row(text="".join(lines))
    text = (await hall.intake(row, OWNER, hall.agent)).text
    assert (await hall.intake(row, OWNER, hall.agent)).text == text
    paths = [path for path in hall.kept() if path in text]
    assert len(paths) == len(hall.kept()) == 2
    assert b"".join(hall.kept()[path] for path in sorted(paths, key=text.index)) == "".join(lines).encode()
    assert all(hall.agent.workspace.read(path, OWNER) for path in paths)
    assert len(text) < 6_000
    assert text.startswith("000000 wörter\n")
    assert text.endswith("099999 wörter\n")
    assert await hall.told() == [
        "Your message has 100,001 lines: I keep all of it as a file and read its beginning and end."
    ]
    assert (await hall.reasons())[LONG_PASTE] == 2


async def test_a_paste_without_room_stays_whole_in_the_conversation(hall: Hall) -> None:
    """Nothing of what somebody said is dropped."""
    text = "".join(f"{n:09}" for n in range(300_000))
    assert await hall.takes(text=text) == text
    assert (await hall.reasons())[NO_ROOM] == 1


@pytest.mark.parametrize("text", ["", "a", "ä" * 1_000_001, "😀" * 600_000, ("x" * 999 + "\n") * 2_500])
def test_parts_of_a_paste_are_whole_characters_and_together_the_text(text: str) -> None:
    """Cut at line ends where there are any; none is larger than a megabyte."""
    parts = list(pasted_parts(text))
    assert "".join(part.decode() for part in parts) == text
    assert all(0 < len(part) <= 1_000_000 for part in parts)
    assert "\n" not in text or all(part.endswith(b"\n") for part in parts)


async def test_a_text_that_came_with_a_message_is_kept_without_a_known_secret(hall: Hall) -> None:
    """Its size is that of what is kept; a picture stays as it came, byte for byte."""
    text, picture = b"door: canary-of-files\n", png(640, 480) + b"canary-of-files"
    with guarding(["canary-of-files"]):
        said = await hall.takes(hall.channel.has(text, "plan.md"), hall.channel.has(picture, "a.png"))
    left = f"door: {REMOVED}\n".encode()
    assert sorted(hall.kept().values()) == sorted([left, picture])
    assert f"[file: plan.md, text/plain, {len(left)} bytes" in said
