"""The spool of accepted messages, on a real disk."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.stores.redis.spool import Spool, SpooledMessage
from gateway.stores.rows import InboxId, OutboxId
from tests.fakes.patience import PATIENCE_S


def message(number: int) -> SpooledMessage:
    return SpooledMessage(f'{{"text": "message {number}"}}', "2026-11-23T12:00:00+00:00")


async def keep(spool: Spool, *numbers: int) -> None:
    await asyncio.gather(*(spool.keep(InboxId(number), message(number)) for number in numbers))


def numbers(path: Path) -> list[int]:
    """Return what another process would find there now."""
    return [id_ for id_, _ in Spool.open(path).kept()]


async def test_a_message_is_kept_until_it_is_answered_and_delivered(tmp_path: Path) -> None:
    """A turn may answer several, by several replies; one that is silent needs no delivery."""
    spool = Spool.open(tmp_path / "spool")
    await keep(spool, 1, 2, 3)
    spool.answered([InboxId(1), InboxId(2)], [OutboxId(7), OutboxId(8)])
    spool.delivered(OutboxId(8))
    assert [id_ for id_, _ in spool.kept()] == [1, 2, 3]
    spool.delivered(OutboxId(7))
    assert spool.kept() == [(3, message(3))]
    spool.answered([InboxId(3)], [])
    await spool.close()
    assert numbers(tmp_path / "spool") == []


async def test_what_is_kept_outlives_the_process(tmp_path: Path) -> None:
    """Without a close; the latest number is known though its message is answered."""
    spool = Spool.open(tmp_path / "spool")
    await keep(spool, 1, 2)
    assert numbers(tmp_path / "spool") == [1, 2]
    spool = Spool.open(tmp_path / "spool")
    spool.forget([InboxId(2)])
    await spool.close()
    again = Spool.open(tmp_path / "spool")
    assert (again.kept(), again.mark[1]) == ([(1, message(1))], 2)


async def test_messages_at_once_share_a_write(tmp_path: Path) -> None:
    """Fifty messages wait for the disk twice, not fifty times."""
    steps = []

    def counted(step: str, size: int) -> int:
        steps.append(step)
        return size

    spool = Spool.open(tmp_path / "spool", counted)
    await keep(spool, *range(1, 51))
    assert steps.count("spool.begin") <= 2
    assert numbers(tmp_path / "spool") == list(range(1, 51))


async def test_a_disk_that_fails_is_told_and_costs_nothing_else(tmp_path: Path) -> None:
    """Whoever waits for that write hears of it; the next one brings all."""
    is_full = True

    def fails(_: str, size: int) -> int:
        if is_full:
            raise OSError(28, "No space left on device")
        return size

    spool = Spool.open(tmp_path / "spool", fails)
    with pytest.raises(StoreError, match="full"):
        await keep(spool, 1)
    is_full = False
    await keep(spool, 2)
    assert numbers(tmp_path / "spool") == [1, 2]


async def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    """As a power cut leaves one."""
    spool = Spool.open(tmp_path / "spool")
    await keep(spool, 1)
    with (tmp_path / "spool").open("a") as file:
        file.write('[2, "2026')
    assert numbers(tmp_path / "spool") == [1]


async def test_the_file_does_not_grow_with_what_is_answered(tmp_path: Path) -> None:
    """A trim removes answered messages once they are most of it; what waits stays, and the spool keeps its name."""
    spool = Spool.open(tmp_path / "spool")
    mark = spool.mark
    await keep(spool, 1)
    for number in range(2, 200):
        await keep(spool, number)
        spool.forget([InboxId(number)])
        await spool.trim()
    assert (tmp_path / "spool").stat().st_size < 1_000
    await spool.rewrite()
    assert "message 199" not in (tmp_path / "spool").read_text()
    await spool.close()
    assert numbers(tmp_path / "spool") == [1]
    assert Spool.open(tmp_path / "spool").mark == (mark[0], 199)


async def test_a_rewrite_that_was_cancelled_does_not_meet_the_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread goes on: two who close one handle may close a file of somebody else's."""
    spool = Spool.open(tmp_path / "spool")
    await keep(spool, 1, 2)
    began, close, failed = threading.Event(), os.close, list[OSError]()

    def close_slowly(handle: int) -> None:
        began.set()
        time.sleep(0.1)
        try:
            close(handle)
        except OSError as exc:
            failed.append(exc)

    monkeypatch.setattr(os, "close", close_slowly)
    rewrite = asyncio.create_task(spool.rewrite())
    await asyncio.to_thread(began.wait, PATIENCE_S)
    rewrite.cancel()
    await asyncio.wait([rewrite])
    await spool.close()
    await asyncio.to_thread(time.sleep, 0.3)
    assert failed == []
    assert numbers(tmp_path / "spool") == [1, 2]
