"""The state of a gateway that uses no Redis: opened, and what of it was lost is kept for the owner."""

import asyncio
import shutil
from datetime import UTC
from pathlib import Path

import structlog

from gateway.errors import StoreError
from gateway.home import Home
from gateway.runtime.clock import Clock
from gateway.stores.disk import disk_trouble
from gateway.stores.losses import StateLoss, keep_loss
from gateway.stores.ports import Store
from gateway.stores.rows import STATE_FRAMES_LOST, STATE_LOST
from gateway.stores.sqlite.store import SqliteStore
from gateway.stores.sqlite.wal import lost_frames
from workspaces.fault_points import Checkpoint

log = structlog.get_logger()

_STATE_LOST = (
    "{path} was missing or empty when I started, although this home has conversations. Unanswered messages, unsent "
    "replies, jobs, approvals and the list of guests are lost; conversations and files are intact. Check the disk. "
    "To restore the rest, stop the gateway and replace the file with the one from a backup."
)
_FRAMES_LOST = (
    "The log of {path} was damaged when I started: {frames} of its entries could not be read. The last writes may be "
    "lost (messages, replies, settings), and an answer may arrive twice. Everything else continues. Check the disk, "
    "and send unanswered messages again; the damaged log is kept as {kept_as}."
)


async def open_own_state(home: Home, clock: Clock, checkpoint: Checkpoint) -> Store:
    """Open the home's own state, and note for its owner if any of it was lost. Raises StoreError."""
    is_begun = home.state_db.exists() and home.state_db.stat().st_size > 0
    is_lost = not is_begun and any(home.agents.glob("*/sessions/*.jsonl"))
    frames = await asyncio.to_thread(lost_frames, home.state_db)
    kept_as = await asyncio.to_thread(_copy_log, home, clock) if frames else None
    store = await SqliteStore.open(home.state_db, clock=clock, checkpoint=checkpoint)
    try:
        if is_lost:
            await _note(store, clock, _STATE_LOST.format(path=home.state_db))
            await store.count(STATE_LOST)
        if frames:
            await _note(store, clock, _FRAMES_LOST.format(path=home.state_db, frames=frames, kept_as=kept_as))
            await store.count(STATE_FRAMES_LOST)
    except StoreError:
        await store.close()
        raise
    return store


async def _note(store: Store, clock: Clock, said: str) -> None:
    log.warning("state lost", detail=said)
    await keep_loss(store, StateLoss(clock.now(), said))


def _copy_log(home: Home, clock: Clock) -> Path:
    """Copy the damaged log, which is about to be written anew; return where to. Raises StoreError."""
    written = home.state_db.with_name(f"{home.state_db.name}-wal")
    copy = home.path / "damaged" / f"{written.name}.{clock.now().astimezone(UTC):%Y%m%dT%H%M%SZ}"
    try:
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copyfile(written, copy)
        copy.chmod(0o600)
    except OSError as exc:
        raise disk_trouble(copy, exc) from exc
    return copy
