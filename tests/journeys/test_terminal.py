"""What a terminal shows that comes back after a crash."""

from pathlib import Path

from adapters.channel import Address
from adapters.terminal import CHANNEL, CHAT
from gateway.control.wire import ChatOrder
from gateway.stores.rows import Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from tests.journeys.house import make_home, running


async def test_an_answer_that_nobody_was_there_to_read_comes_first_and_says_so(tmp_path: Path) -> None:
    """Nothing that was committed is lost, and it does not pass for the answer to the new question."""
    home = make_home(tmp_path / "home")
    store = await SqliteStore.open(home.state_db)
    await store.notify("old", Outgoing(Address(CHANNEL, "main", CHAT), "from before"))
    await store.close()
    shown: list[tuple[str, bool]] = []

    async def on_reply(text: str, is_answer: bool) -> None:
        shown.append((text.splitlines()[0], is_answer))

    async with running(home) as app:
        await app.desk.chat(ChatOrder("thanks"), on_reply)
    assert [is_answer for _, is_answer in shown] == [False, True]
    assert shown[0] == ("from before", False)


async def test_a_reply_that_cannot_be_delivered_is_told_to_the_owner(tmp_path: Path) -> None:
    """A chat that is gone for good is no silence: the terminal says which, and `status` counts it."""
    home = make_home(tmp_path / "home")
    store = await SqliteStore.open(home.state_db)
    await store.commit_turn(TurnCommit(TurnId("t9"), [], [Outgoing(Address("gone", "home", "1"), "lost")]))
    await store.close()
    shown: list[str] = []

    async def on_reply(text: str, _: bool) -> None:
        shown.append(text)

    async with running(home) as app:
        await app.desk.chat(ChatOrder("thanks"), on_reply)
        await app.desk.chat(ChatOrder("thanks again"), on_reply)
        status = await app.desk.status()
    assert [text for text in shown if "gone.home.1" in text and "could not be delivered" in text]
    assert status.outbox_dead == 1
