"""What was said is found again, when the configuration says so."""

import asyncio
from pathlib import Path

import pytest

from gateway.app.app import App
from gateway.config import read_config
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON, make_home


@pytest.mark.parametrize("setting", ["true", "false"])
async def test_a_conversation_is_searched_when_it_is_switched_on(tmp_path: Path, setting: str) -> None:
    """The owner's own words are a hit with their line; without the setting, transcripts are left alone."""
    home = make_home(tmp_path / "home")
    config = home.config_file.read_text("utf-8")
    home.config_file.write_text(f'{config}\n[memory]\ntranscripts = {setting}\nwatch = "off"\n')

    async def hear(*_: object) -> None:
        """Take a reply."""

    stop = asyncio.Event()
    with home.lock("a journey"):
        async with (
            App.open(home, read_config(home.config_file), ENVIRON, channels=False) as app,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(app.run(stop))
            async with asyncio.timeout(PATIENCE_S):
                await app.operator.chat(ChatOrder("my zebra is called Konrad"), hear)
                app.operator.agents.named(None).memory.touched()
                found = await app.operator.ask(SearchOrder("zebra Konrad"))
            stop.set()
    said = [hit.citation for hit in found.hits if hit.path.startswith("sessions/")]
    assert said[:1] == (["sessions/main.jsonl#L2-L2"] if setting == "true" else [])
