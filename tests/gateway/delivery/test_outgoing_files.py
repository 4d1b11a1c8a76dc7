"""What a reply encloses goes out after it, once, as it was when the turn asked for it."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.channel import Address, Button, ChannelUnavailableError, SendRefusedError, UnsureSendError
from gateway.delivery.outgoing_files import LOST, Enclosures
from gateway.delivery.rendering import Rendering
from gateway.delivery.retry_policy import RetryPolicy
from gateway.delivery.sender import Adapters, Delivery, DeliveryObservers
from gateway.runtime.threads import Threads
from gateway.stores.disk import write_durably
from gateway.stores.rows import Enclosure, OutboxRow, Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import FakeAdapter, LostReceipt
from tests.fakes.clock import ManualClock
from tests.fakes.media import MediaAdapter
from tests.fakes.patience import PATIENCE_S
from workspaces.access import AgentId
from workspaces.secrets import REMOVED, guarding

MAIN = AgentId("main")
ALICE = Address("fake", "home", "alice")
LONG = "the answer comes in two parts " + "." * 20


class Post:
    """A store, the contents beside it, a platform and the delivery between them."""

    def __init__(self, folder: Path, tasks: asyncio.TaskGroup, threads: Threads) -> None:
        self.folder = folder
        self.adapter: FakeAdapter = MediaAdapter()
        self.clock = ManualClock()
        self._tasks = tasks
        self._threads = threads
        self.store: SqliteStore
        self.delivery: Delivery
        self.enclosures: Enclosures

    async def start(self) -> None:
        self.store = await SqliteStore.open(self.folder / "state.db", clock=self.clock)
        adapters = Adapters([])
        adapters.loaded["fake", "home"] = self.adapter
        self.enclosures = Enclosures({MAIN: self.folder / "outgoing"}, {}, self._threads, self.store.count)
        rendering, observers = Rendering(enclosures=self.enclosures), DeliveryObservers(_nobody)
        self.delivery = Delivery(
            self._tasks, self.store.outbox, adapters, observers, RetryPolicy(self.clock), rendering
        )
        await self.delivery.recover(lambda _: True)

    async def stop(self) -> None:
        await self.delivery.drain(0)
        await self.store.close()

    def encloses(self, key: str, content: bytes, name: str = "plan.md", caption: str = "") -> Enclosure:
        write_durably(self.enclosures.place("main", key), [content])
        return Enclosure("main", key, f"notes/{name}", len(content), caption)

    async def commit(self, *files: Enclosure, text: str = "Here.", buttons: tuple[Button, ...] = ()) -> OutboxRow:
        outgoing = Outgoing(ALICE, text, "7", files, buttons)
        (row,) = await self.store.commit_turn(TurnCommit(TurnId(f"turn of {text}"), [], [outgoing]))
        return row

    async def send(self, row: OutboxRow) -> None:
        self.delivery.wake([row])
        async with asyncio.timeout(PATIENCE_S):
            await self.delivery.finished(row.id)

    def shown(self) -> list[tuple[str, str, bytes]]:
        """Return what the platform took: text, name of the file, content of the file."""
        bodies = [message.body for message in self.adapter.taken]
        return [
            (each.text, each.upload.name, each.upload.content) if each.upload else (each.text, "", b"")
            for each in bodies
        ]

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "outgoing").iterdir())


async def _nobody(_: OutboxRow, __: str) -> None:
    """Nobody is told of what is given up."""


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads("test")
    yield threads
    threads.close()


@pytest.fixture
async def post(tmp_path: Path, threads: Threads) -> AsyncIterator[Post]:
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        post = Post(tmp_path, tasks, threads)
        await post.start()
        yield post
        await post.stop()


async def test_files_follow_the_text_and_their_content_goes_once_it_arrived(post: Post) -> None:
    """Each is a part of its own, in order, with its caption; nothing of them is kept."""
    files = [post.encloses("t1.a", b"one", "a.md", "the *first*"), post.encloses("t1.b", b"two", "b.md")]
    await post.send(await post.commit(*files))
    assert post.shown() == [("Here.", "", b""), ("the *first*", "a.md", b"one"), ("", "b.md", b"two")]
    assert post.left() == []
    assert await post.store.outbox.unfinished() == []


async def test_a_reply_may_be_a_file_alone(post: Post) -> None:
    """Without text there is no message before it."""
    await post.send(await post.commit(post.encloses("t1.a", b"one"), text=""))
    assert post.shown() == [("", "plan.md", b"one")]
    assert post.adapter.taken[0].reply_to == "7"


async def test_buttons_stand_below_the_last_message_of_a_reply(post: Post) -> None:
    """Whatever it is: a part of the text, or a file."""
    buttons = (Button("Approve", "/approve 3"), Button("Refuse", "/refuse 3"))
    await post.send(await post.commit(text=LONG, buttons=buttons))
    await post.send(await post.commit(post.encloses("t1.a", b"one"), buttons=buttons))
    assert [each.buttons for each in post.adapter.taken] == [(), buttons, (), buttons]


@pytest.mark.parametrize("fault", [ChannelUnavailableError("down"), UnsureSendError("reset"), LostReceipt()])
async def test_a_file_that_did_not_arrive_is_sent_again(post: Post, fault: object) -> None:
    """The text before it is not; the content stays until the platform has it."""
    post.adapter.faults["alice"] = [None, fault]  # type: ignore[list-item]  # every one of them is a fault
    row = await post.commit(post.encloses("t1.a", b"one"))
    post.delivery.wake([row])
    await post.clock.waiters(1)
    assert post.left() == ["t1.a"]
    post.clock.advance(600)
    await post.send(row)
    assert [text for text, name, _ in post.shown() if not name] == ["Here."]
    assert post.shown()[-1] == ("", "plan.md", b"one")
    assert post.left() == []


async def test_a_restart_sends_what_was_enclosed_and_not_what_stands_there_now(post: Post) -> None:
    """The content was copied when the turn asked; a crash before the send loses nothing."""
    post.adapter.faults["alice"] = [ChannelUnavailableError("down")]
    row = await post.commit(post.encloses("t1.a", b"as it was"))
    post.delivery.wake([row])
    await post.clock.waiters(1)
    await post.stop()
    post.clock.advance(600)
    await post.start()
    async with asyncio.timeout(PATIENCE_S):
        await post.delivery.finished(row.id)
    assert post.shown()[-1] == ("", "plan.md", b"as it was")


async def test_a_reply_that_is_given_up_keeps_nothing(post: Post) -> None:
    """The content of its files goes with it."""
    post.adapter.faults["alice"] = [SendRefusedError("blocked")] * 3
    await post.send(await post.commit(post.encloses("t1.a", b"one")))
    assert post.left() == []


async def test_a_content_that_is_lost_is_said_and_counted(post: Post) -> None:
    """The reply goes out all the same, and says which file is missing."""
    file = post.encloses("t1.a", b"one", caption="my plan")
    (post.folder / "outgoing" / "t1.a").unlink()
    await post.send(await post.commit(file))
    assert [text for text, _, _ in post.shown()] == [
        "Here.",
        "my plan\n[file: notes/plan.md; it was to be sent, but no longer exists]",
    ]
    assert (await post.store.report()).reasons == {LOST: 1}


@pytest.mark.parametrize("adapter", [FakeAdapter(text_limit=200), MediaAdapter(text_limit=200, upload_limit=2)])
async def test_where_a_file_cannot_be_sent_it_is_told_of(post: Post, adapter: FakeAdapter) -> None:
    """A channel without files, or one that takes no file so large, shows its name, its size and where it lies."""
    await post.stop()
    post.adapter = adapter
    await post.start()
    await post.send(await post.commit(post.encloses("t1.a", b"one", caption="my plan")))
    told = "my plan\n\n[file: notes/plan.md, 3 bytes; it is in my workspace and cannot be sent here]"
    assert post.shown() == [("Here.", "", b""), (told, "", b"")]
    assert post.left() == []


@pytest.mark.parametrize(
    ("caption", "shown"),
    [("x" * 30, [("x" * 30, "plan.md")]), ("😀" * 16, [("😀" * 16, ""), ("", "plan.md")])],
    ids=["fits", "does not"],
)
async def test_a_caption_that_is_too_long_goes_before_its_file(
    post: Post, caption: str, shown: list[tuple[str, str]]
) -> None:
    """Platforms take less text with a file than without; they count as UTF-16 does."""
    await post.send(await post.commit(post.encloses("t1.a", b"one", caption=caption)))
    assert [(text, name) for text, name, _ in post.shown()] == [("Here.", ""), *shown]


async def test_what_crashes_left_behind_is_swept_when_it_is_old(post: Post) -> None:
    """Neither what a waiting reply encloses nor what a turn may still commit."""
    row = await post.commit(post.encloses("waiting", b"1"))
    for key, age_days in (("waiting", 30), ("left", 30), ("young", 0)):
        place = post.enclosures.place("main", key)
        write_durably(place, [b"1"])
        os.utime(place, (place.stat().st_atime, place.stat().st_mtime - age_days * 86_400))
    assert await post.enclosures.sweep([row]) == 1
    assert post.left() == ["waiting", "young"]


async def test_a_text_that_is_sent_holds_no_known_secret(post: Post) -> None:
    """The owner's own file stays as it is, and what a chat gets of it is without the key."""
    with guarding(["canary-of-files"]):
        await post.send(await post.commit(post.encloses("t1.a", b"door: canary-of-files")))
    assert post.shown()[-1] == ("", "plan.md", f"door: {REMOVED}".encode())
