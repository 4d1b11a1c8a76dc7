"""Returns the gateway's unused memory to the system, through `workspaces/memory_trim.py`.

Otherwise garbage is collected less often (`cli/up.py`).
"""

from gateway.runtime.clock import SystemClock, pause
from workspaces.memory_trim import EVERY_S, MOST_OF_THE_TIME, give_back, wait_s


async def keep_small(every_s: float = EVERY_S, share: float = MOST_OF_THE_TIME) -> None:
    """Trim every *every_s* seconds, or less often if that would take more than *share* of the time.

    It runs on the event loop's thread: the garbage may belong to the loop.
    """
    took_s = 0.0
    while True:
        await pause(SystemClock(), wait_s(took_s, every_s, share))
        took_s = give_back()
