"""This file checks what the owner is told besides answers."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from adapters.channel import Address
from adapters.terminal import CHAT
from gateway.conversation.notices import Notices
from gateway.stores.ports import OutboxRow
from gateway.stores.sqlite import SqliteStore

OWNER = Address("terminal", "main", CHAT)
GROUP = Address("telegram", "home", "-5")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield store
    await store.close()


async def test_the_owner_is_told_once_what_to_write_when_a_group_moved(store: SqliteStore) -> None:
    """The line that keeps the group's conversation together after a restart, ready to be copied."""
    woken: list[OutboxRow] = []
    notices = Notices(store, OWNER)
    notices.wake = woken.extend
    for _ in range(2):
        await notices.moved(GROUP, "-1007")
    (row,) = woken
    assert row.outgoing.address == OWNER
    assert "below [channels.telegram.home]" in row.outgoing.text
    assert 'moved = { "-5" = "-1007" }' in row.outgoing.text
    assert [each.id for each in await store.outbox.unfinished()] == [row.id]


async def test_a_store_that_fails_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    """The log says what the owner would have been told; the group's messages go on."""
    store = await SqliteStore.open(tmp_path / "closed.db")
    await store.close()
    notices = Notices(store, OWNER)
    with structlog.testing.capture_logs() as logs:
        await notices.moved(GROUP, "-1007")
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("chat moved", "warning"),
        ("owner not told of a chat that moved", "error"),
    ]


async def test_the_owner_is_told_once_for_each_absence_that_more_was_missed(store: SqliteStore) -> None:
    """However many chats and servers there are; with the settings that say how much is read."""
    notices, monday = Notices(store, OWNER), datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
    for since in (monday, monday, monday + timedelta(days=2)):
        await notices.missed(Address("discord", "home", "300"), since)
    first, second = [each.outgoing.text for each in await store.outbox.unfinished()]
    assert "since 2026-03-02 08:30 UTC" in first
    assert "since 2026-03-04 08:30 UTC" in second
    assert "catch_up_hours and catch_up_messages of [channels.discord.home]" in first
