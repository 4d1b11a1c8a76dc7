"""This file has the gateway give memory back that nothing uses any more, as `workspaces/memory_trim.py` does it.

It looks for garbage seldom otherwise (`cli/up.py`).
"""

import asyncio

from workspaces.memory_trim import EVERY_S, MOST_OF_THE_TIME, give_back, wait_s


async def keep_small(every_s: float = EVERY_S, share: float = MOST_OF_THE_TIME) -> None:
    """Give back every *every_s* seconds, more seldom where that would be more than *share* of the time.

    It is the event loop's thread that does it: what is found may belong to the loop.
    """
    took_s = 0.0
    while True:
        await asyncio.sleep(wait_s(took_s, every_s, share))
        took_s = give_back()
