"""Warning before the disk of a home is full: until then nobody looks at it."""

import asyncio
import shutil

import structlog

from gateway.app.open_home import OpenHome
from gateway.errors import StoreError
from gateway.runtime.clock import pause

log = structlog.get_logger()

LOOK_EVERY_S = 3_600.0
SHORT_BYTES, SHORT_SHARE = 1_000_000_000, 50
"""Room is short below so many bytes, or below one part in so many of a small disk. Our choice."""


async def warn_of_short_disk(home: OpenHome) -> None:
    """Look every hour; runs until cancelled."""
    while True:
        try:
            await look_at_disk(home)
        except (StoreError, OSError) as exc:
            log.error("owner not told of a disk that is nearly full", detail=str(exc))
        await pause(home.clock, LOOK_EVERY_S)


async def look_at_disk(home: OpenHome) -> None:
    """Tell the owner that there is little room, once a week while that is so. Raises StoreError and OSError."""
    place = home.files.path
    room = await asyncio.to_thread(shutil.disk_usage, place)
    if room.free >= min(SHORT_BYTES, room.total // SHORT_SHARE):
        return
    log.warning("the disk is nearly full", free_mb=room.free // 1_000_000)
    said = (
        f"The disk of {place} has {room.free // 1_000_000:,} MB left. Once it is full, I take no messages until there "
        "is room again: free some space. `strandline doctor` shows how much there is."
    )
    await home.notices.tell(f"disk:{home.now():%G-%V}", said)
