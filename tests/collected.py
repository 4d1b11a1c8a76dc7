"""Forks the processes of `pytest -n` from one that has imported the tests, which takes 16 s and more, and orders these.

Where that cannot be done, each is started and imports them for itself.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.zygote import PARAMETERS, ROOT, START, Zygote, main, starting_by

EXECNETS = [sys.executable, "-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"]
"""How a process of `pytest -n` is started."""
Item = TypeVar("Item")
OURS = [sys.executable, "-m", "tests.worker"]


@contextmanager
def forked_workers(tests: Sequence[str]) -> Iterator[None]:
    """Fork the processes that run tests from one that has imported *tests*; it is awaited."""
    zygote = Zygote.started(__name__, tests)
    can_fork = zygote.wait()

    def execute(popen: Any, *given: Any) -> None:
        call = PARAMETERS.bind(popen, *given).arguments
        environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        path = [str(ROOT), *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
        order = {"argv": OURS, "environ": environ, "cwd": str(Path.cwd()), "path": path, "session": False}
        order |= {"ignores_interrupts": False}
        if not can_fork or call["args"] != EXECNETS or not zygote.start(popen, call, order):
            START(popen, *given)

    with starting_by(execute):
        yield
    zygote.close()


def slow_first(tests: Sequence[Item], parts: int, is_slow: Callable[[Item], bool]) -> list[Item]:
    """Return *tests* so that each of *parts* begins with its share of the slow ones: nobody waits for them at the end.

    `--dist worksteal` gives each process one part, in order, of equal size but for a remainder that goes to the last.
    """
    slow, others = [each for each in tests if is_slow(each)], iter([each for each in tests if not is_slow(each)])
    ordered: list[Item] = []
    for part in range(parts):
        size = (len(tests) - len(ordered)) // (parts - part)
        first = slow[part::parts]
        ordered += [*first, *islice(others, max(size - len(first), 0))]
    return [*ordered, *others]


def collect(tests: Sequence[str]) -> None:
    """Import *tests* as pytest does; what is wrong with them is said by the processes that run them."""
    with redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-qq", "-n0", "--capture=no", "-p", "no:cacheprovider", *tests])


if __name__ == "__main__":
    collect(sys.argv[2:])
    main(int(sys.argv[1]), ())
