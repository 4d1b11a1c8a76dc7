"""The walk of a message in docs/architecture.md, compared with the files that a real message passes."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import OWNER, make_home, openai_section, running

ROOT = Path(__file__).parents[2]
MOST_STOPS = 25


async def test_a_message_passes_the_stops_of_the_design_in_their_order(tmp_path: Path) -> None:
    """Each stop is named once, at most 25 in all, and a message from Telegram to the sent reply enters them in turn."""
    stops = walk()
    assert len(stops) == len(set(stops)) <= MOST_STOPS
    async with BotApi() as bot, OpenAIStub(lambda _: "Good morning.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        with entered() as files:
            async with running(home):
                files.clear()
                bot.says(OWNER, "Good morning")
                (sent,) = await bot.wait_for_sent(1)
    assert sent.text == "Good morning."
    assert missed(stops, files) == []


def walk() -> list[str]:
    """Return the stops that the design lists, in order."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    (table,) = re.findall(r"<!-- walk -->\n(.*?)<!-- /walk -->", text, re.DOTALL)
    return re.findall(r"^\| \d+ \| `([^`]+)` \|", table, re.MULTILINE)


@contextmanager
def entered() -> Iterator[list[str]]:
    """Record the files whose functions this thread, or one that it starts, enters or resumes, in order, as paths."""
    files: list[str] = []
    root = f"{ROOT}/"

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root):
            files.append(name.removeprefix(root))

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)  # the store works on a thread of its own
    try:
        yield files
    finally:
        threading.setprofile(None)
        sys.setprofile(before)


def missed(stops: list[str], files: list[str]) -> list[str]:
    """Return the stops that were not entered after the one before them."""
    rest = iter(files)
    return [stop for stop in stops if stop not in rest]
