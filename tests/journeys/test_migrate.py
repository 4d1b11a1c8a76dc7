"""An index is moved to a server only when that gives the same answers; the settings alone decide when it is used."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench.made_notes import daily_notes
from gateway.app.index_migration import is_same
from gateway.cli import main
from gateway.config import read_config
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import MemorySearchAnswer, SearchOrder
from gateway.home import Home
from tests.fakes.qdrant_stub import QdrantStub
from tests.journeys.house import ENVIRON, make_home, running

QUESTION = "What did Ada do with the piano?"


@pytest.fixture
def stub() -> Iterator[QdrantStub]:
    with QdrantStub() as stub:
        yield stub


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = make_home(tmp_path / "home")
    notes = home.agent("main").workspace / "memory"
    notes.mkdir(exist_ok=True)
    for day, text in daily_notes(28):
        (notes / f"{day}.md").write_text(text, "utf-8")
    return home


def migrated(home: Home, *options: str, environ: Mapping[str, str] | None = None) -> int:
    argv = ["memory", "migrate", *options, "--home", str(home.path)]
    return main.run(argv, environ or {}, "strandline")


async def test_a_gateway_goes_on_with_what_was_built_on_a_server(
    home: Home, stub: QdrantStub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted and compared; with the settings that are printed it finds the collection, and the same answer in it."""
    before, settings = await answer(home), home.config_file.read_text("utf-8")
    options = (stub.url, "--api-key-env", "MODEL_KEY")
    assert await asyncio.to_thread(migrated, home, *options, environ=ENVIRON) == 0
    shown = capsys.readouterr().out
    assert "28 of 28 entries copied, 28 of 28 answers the same" in shown
    assert stub.keys == {ENVIRON["MODEL_KEY"]}
    assert home.config_file.read_text("utf-8") == settings
    assert not (home.path / "run" / "moving").exists()
    collections = {each.name for each in stub.memory.get_collections().collections}
    home.write(home.config_file, f"{settings}\n{shown[shown.index('[qdrant]') :]}")
    after = await answer(home)
    assert after.mode == "hybrid"
    assert [hit.citation for hit in after.hits] == [hit.citation for hit in before.hits]
    assert [hit.score for hit in after.hits] == pytest.approx([hit.score for hit in before.hits], abs=1e-3)
    assert {each.name for each in stub.memory.get_collections().collections} == collections


async def answer(home: Home) -> MemorySearchAnswer:
    """Return what the gateway of *home* finds once everything is indexed."""
    async with running(home) as app:
        await app.operator.follow(IndexOrder())
        return await app.operator.ask(SearchOrder(QUESTION))


def test_a_server_that_loses_notes_is_found_out(
    home: Home, stub: QdrantStub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 1, the questions that differ, and no settings to copy."""
    real = stub.memory.query_batch_points

    def forgetful(*arguments: object, **options: object) -> object:
        answers = real(*arguments, **options)  # type: ignore[arg-type]  # handed on as they came
        for answer in answers:
            del answer.points[:2]
        return answers

    monkeypatch.setattr(stub.memory, "query_batch_points", forgetful)
    assert migrated(home, stub.url, "--json") == 1
    (outcome,) = json.loads(capsys.readouterr().out)["agents"]
    assert outcome["different"]
    assert outcome["queries"] > 20


def test_what_cannot_be_moved_is_told(home: Home, stub: QdrantStub, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong address, a server that is not there, a running gateway, an index that was moved before."""
    assert migrated(home, "qdrant:6333") == 2
    assert "qdrant.url: must be an address that begins with http" in capsys.readouterr().err
    assert migrated(home, "http://127.0.0.1:1") == 1
    assert "Qdrant" in capsys.readouterr().err
    with home.lock("a test"):
        assert migrated(home, stub.url) == 3
    home.write(home.config_file, f'{home.config_file.read_text("utf-8")}\n[qdrant]\nurl = "{stub.url}"\n')
    assert migrated(home, stub.url) == 2
    assert read_config(home.config_file).qdrant.url == stub.url


@pytest.mark.parametrize(
    ("theirs", "same"),
    [
        (("hybrid", {"a": 2.0, "b": 1.0, "c": 1.0}), True),
        (("hybrid", {"a": 2.0004, "b": 1.0, "d": 1.0}), True),
        (("keyword", {"a": 2.0, "b": 1.0, "c": 1.0}), False),
        (("hybrid", {"a": 2.0, "b": 1.0}), False),
        (("hybrid", {"d": 2.0, "b": 1.0, "c": 1.0}), False),
        (("hybrid", {"a": 2.0, "b": 1.01, "c": 1.0}), False),
    ],
)
def test_answers_are_the_same_but_for_rounding(theirs: tuple[str, Mapping[str, float]], same: bool) -> None:
    """Only at the end of the list may one passage stand for another of the same score."""
    assert is_same(("hybrid", {"a": 2.0, "b": 1.0, "c": 1.0}), theirs) is same
