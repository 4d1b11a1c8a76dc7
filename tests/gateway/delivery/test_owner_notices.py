"""Notices to the owner besides answers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import structlog

from adapters.channel import Address, Button
from adapters.spoken import CHAT
from gateway.delivery.owner_notices import Notices
from gateway.delivery.waker import OutboxWaker
from gateway.stores.rows import OutboxRow, Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import message

OWNER = Address("terminal", "main", CHAT)
GROUP = Address("telegram", "home", "-5")
PHONE = Address("telegram", "home", "7")


async def test_the_owner_is_told_once_what_to_write_when_a_group_moved(store: SqliteStore) -> None:
    """The line that keeps the group's conversation together after a restart, ready to be copied."""
    woken: list[OutboxRow] = []
    notices = Notices(store, OWNER, woken.extend)
    for _ in range(2):
        await notices.moved(GROUP, "-1007")
    (row,) = woken
    assert row.outgoing.address == OWNER
    assert "under [channels.telegram.home]" in row.outgoing.text
    assert 'moved = { "-5" = "-1007" }' in row.outgoing.text
    assert [each.id for each in await store.outbox.unfinished()] == [row.id]


async def test_the_owner_alone_is_told_of_a_secret_in_a_message(store: SqliteStore) -> None:
    """Once, in their own chat: whoever wrote it is not told that it was one."""
    notices = Notices(store, OWNER, OutboxWaker().wake, phone)
    said = replace(message("[secret removed]", id="5"), address=GROUP)
    for _ in range(2):
        await notices.exposed(said)
    (row,) = await store.outbox.unfinished()
    assert row.outgoing.address == PHONE
    assert f"in {GROUP} contained a key or password that I use" in row.outgoing.text
    assert (await store.report()).reasons == {"secret_received": 2}


async def test_a_store_that_fails_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    """The log says what the owner would have been told; the group's messages go on."""
    store = await SqliteStore.open(tmp_path / "closed.db")
    await store.close()
    notices = Notices(store, OWNER, OutboxWaker().wake)
    with structlog.testing.capture_logs() as logs:
        await notices.moved(GROUP, "-1007")
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("chat moved", "warning"),
        ("owner not told of a chat that moved", "error"),
    ]


async def phone() -> Address | None:
    """Know the owner's chat."""
    return PHONE


async def nowhere() -> Address | None:
    """Know none."""
    return None


async def test_a_reply_that_was_given_up_is_told_in_the_owners_chat(store: SqliteStore) -> None:
    """Once; at the terminal where no chat is known, and where it is the owner's chat itself that takes nothing."""
    woken: list[OutboxRow] = []
    for number, (find, gone, there) in enumerate(
        [(phone, GROUP, PHONE), (nowhere, GROUP, OWNER), (None, GROUP, OWNER), (phone, PHONE, OWNER)]
    ):
        notices = Notices(store, OWNER, woken.extend, find)
        (row,) = await store.commit_turn(TurnCommit(TurnId(f"t{number}"), [], [Outgoing(gone, "an answer")]))
        for _ in range(2):
            await notices.dead_letter(row, "the chat is gone")
        told = woken.pop()
        assert woken == []
        assert told.outgoing.address == there
        assert str(gone) in told.outgoing.text


async def test_a_reply_that_was_given_up_names_its_chat(store: SqliteStore) -> None:
    """A number says little to somebody with eight channels; the name is code, as its members choose it."""

    async def names() -> dict[str, str]:
        return {str(GROUP): "#kit`chen"}

    woken: list[OutboxRow] = []
    notices = Notices(store, OWNER, woken.extend, phone, names=names)
    (row,) = await store.commit_turn(TurnCommit(TurnId("t"), [], [Outgoing(GROUP, "an answer")]))
    await notices.dead_letter(row, "give the bot permission")
    (told,) = woken
    assert told.outgoing.text == (
        f"A reply to `#kit\u02cbchen ({GROUP})` could not be delivered: give the bot permission"
    )


@pytest.mark.parametrize(("gone", "told"), [(PHONE, [OWNER]), (GROUP, []), (OWNER, [])])
async def test_a_notice_that_nobody_took_is_told_again_at_most_once(
    store: SqliteStore, gone: Address, told: list[Address]
) -> None:
    """At the terminal, if the owner's chat did not take it; a notice about a notice would never end."""
    woken: list[OutboxRow] = []
    notices = Notices(store, OWNER, woken.extend, phone)
    await notices.tell("key", "somebody asks to be let in", gone)
    (row,) = woken
    for _ in range(2):
        await notices.dead_letter(row, "blocked")
    assert [each.outgoing.address for each in woken[1:]] == told
    for again in woken[1:]:
        assert again.outgoing.text == "somebody asks to be let in"
        await notices.dead_letter(again, "nobody there")
    assert len(woken) == 1 + len(told)


async def test_what_may_be_decided_there_comes_with_its_buttons(store: SqliteStore) -> None:
    """A notice may ask."""
    woken: list[OutboxRow] = []
    notices = Notices(store, OWNER, woken.extend, phone)
    await notices.tell("key", "yes?", None, (yes := Button("Yes", "/yes"),))
    assert [(row.outgoing.address, row.outgoing.buttons) for row in woken] == [(PHONE, (yes,))]


async def test_the_owner_is_told_once_for_each_absence_that_more_was_missed(store: SqliteStore) -> None:
    """However many chats and servers there are; in the owner's zone, with the settings of how much is read."""
    notices = Notices(store, OWNER, OutboxWaker().wake, zone=ZoneInfo("Asia/Tokyo"))
    monday = datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
    for since in (monday, monday, monday + timedelta(days=2)):
        await notices.missed(Address("discord", "home", "300"), since)
    first, second = [each.outgoing.text for each in await store.outbox.unfinished()]
    assert "since 2026-03-03 03:30)" in first
    assert "since 2026-03-05 03:30)" in second
    assert "catch_up_hours and catch_up_messages of [channels.discord.home]" in first
