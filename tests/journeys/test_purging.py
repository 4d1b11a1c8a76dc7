"""What the owner forgets and purges stands in no byte of the home any more."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder
from gateway.home import Home
from tests.journeys.house import make_home, running

FACTS = (
    "the quokka locker at the pool opens with 471199",
    "Aunt Brunhilde keeps the quokka key under the zinnias",
    "my quokka salary at Fennimore is 73250 crowns",
    "Doctor Wagtail prescribed oxalifen for the quokka in March",
)
TRACES = tuple(each.encode() for each in ("quokka", "471199", "zinnias", "fennimore", "oxalifen"))


def places(home: Home, traces: tuple[bytes, ...] = TRACES) -> Iterator[str]:
    """Give where *traces* are found: in the bytes of every file of the home, in every object of its history."""
    for file in (each for each in home.path.rglob("*") if each.is_file()):
        data = file.read_bytes().lower()
        yield from (f"{file.relative_to(home.path)}: {trace.decode()}" for trace in traces if trace in data)
    git = shutil.which("git")
    assert git is not None
    command = [git, "--git-dir", str(home.agent("main").history), "cat-file", "--batch-all-objects", "--batch"]
    objects = subprocess.run(command, capture_output=True, check=True).stdout.lower()
    assert b"tea at four" in objects
    yield from (f"history: {trace.decode()}" for trace in traces if trace in objects)


async def test_what_four_notes_said_is_in_no_byte_after_one_purge(tmp_path: Path) -> None:
    """Told in four ways, asked for, ended, restarted, forgotten: one command takes all of it out of the whole home."""
    home = make_home(tmp_path / "home")
    told: list[str] = []

    async def show(text: str, _: bool) -> None:
        told.append(text)

    async def say(text: str) -> str:
        await app.operator.chat(ChatOrder(text), show)
        return told[-1]

    async with running(home) as app:
        await say(f"Remember that {FACTS[0]}")
        await say(f"/remember {FACTS[1]}.")
        await say(f"please remember: {FACTS[2]}!")
        await say(f"/remember health: {FACTS[3]}")
        await say("/remember tea at four")
        assert "73250" in await say("What is my salary?")
        await say("/new")
        await say("hello again")
    assert len({each.split(":")[0] for each in places(home)}) >= 6, "the search is broken"
    async with running(home) as app:
        forgotten = await say("/forget Quokka")
        everything = re.search(r"All of them: `([^`]+)`", forgotten)
        assert everything is not None, forgotten
        forgotten = await say(everything[1])
        offered = re.findall(r"`(/purge [^`]+)`", forgotten)
        assert len(offered) == 1, forgotten
        purged = await say(offered[0])
        assert purged.startswith("Purged: "), purged
        assert list(places(home)) == []
        for words in ("quokka", "zinnias", "salary crowns"):
            found = await app.operator.ask(SearchOrder(words))
            assert not [hit for hit in found.hits if any(each in hit.snippet.lower().encode() for each in TRACES)]
        assert [hit for hit in (await app.operator.ask(SearchOrder("tea at four"))).hits if "tea" in hit.snippet]
        assert "was purged already" in await say(offered[0])
    assert list(places(home)) == []
    async with running(home) as app:
        assert "tea at four" in await say("When is tea?")
    assert list(places(home)) == []


async def test_a_word_that_no_note_holds_names_no_other_note(tmp_path: Path) -> None:
    """With the model that ships: what has nothing to do with it is not offered to be forgotten; how to look is said."""
    home = make_home(tmp_path / "home")
    answers: list[str] = []

    async def show(text: str, _: bool) -> None:
        answers.append(text)

    async with running(home) as app:
        for fact in ("my therapist is called Dr Wagtail", "the boiler is serviced in May", *FACTS):
            await app.operator.chat(ChatOrder(f"/remember {fact}"), show)
        for word in ("Rex", "the invoice", "zzz", "my dentist"):
            await app.operator.chat(ChatOrder(f"/forget {word}"), show)
            assert answers[-1].startswith("No note that I can change here contains these words.\n`/memory`"), answers[
                -1
            ]
        await app.operator.chat(ChatOrder("/forget when the boiler is serviced"), show)
        assert "the boiler is serviced in May" in answers[-1]
