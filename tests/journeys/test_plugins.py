"""Journeys of somebody who installed packages of strangers into their gateway."""

from pathlib import Path

from tests.fakes.botapi import BotApi
from tests.fakes.packages import Install, install
from tests.gateway.test_plugins import CODE, SMOKE
from tests.journeys.house import OWNER, make_home, running

__all__ = ["install"]


async def test_a_package_that_cannot_be_loaded_stops_nothing_else(install: Install, tmp_path: Path) -> None:
    """Its account is refused with the sentence, so is one whose channel fails as it opens; Telegram answers."""
    install("smoke-signals", SMOKE, CODE)
    install("broken", "[strandline.channels]\nfog = broken:Settings\ntelegram = broken:Settings\n", "import not_there")
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        strange = '\n[channels.fog.home]\nhorn = 3\n[channels.smoke.home]\nhill = "north"\ndirect = "pairing"\n'
        home.write(home.config_file, home.config_file.read_text() + strange)
        async with running(home) as app:
            bot.says(OWNER, "/whoami")
            await bot.wait_for_sent(1)
            state = await app.operator.status()
    channels = {each.channel: each for each in state.channels}
    assert channels["telegram"].state == "listening"
    assert channels["fog"].state == "refused"
    assert 'broken: the entry point "fog" of strandline.channels' in channels["fog"].reason
    assert "No module named 'not_there'" in channels["fog"].reason
    assert channels["smoke"].reason == "channels.smoke.home: its channel cannot be opened: OSError: no hill in sight"
    assert [each for each in state.troubles if each.startswith('broken: the entry point "telegram"')]
