"""Turns SIGTERM and SIGINT into a request to stop; the second signal ends the process at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set *stop* at the first signal while the block runs; the next one has its default effect."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        stop.set()
        _leave_to_the_system(loop)

    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        loop.add_signal_handler(number, first)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _leave_to_the_system(loop: asyncio.AbstractEventLoop) -> None:
    for number in STOPPING:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
