"""docs/tutorial.md, executed step by step: each command as it is shown, with Telegram and a model on loopback."""

import re
import shlex
from pathlib import Path

from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.prompt import prompt
from tests.journeys.test_first_hour import KEY, OWNER, asked, connect_telegram, knows, until_running
from tests.journeys.test_platform_pages import GROUP

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


def step(number: int) -> list[list[str]]:
    """Return the words of the commands in a step of the page."""
    part = re.split(r"^## \d\. ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[number]
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL)).splitlines()
    return [shlex.split(line)[1:] for line in lines if line]


async def done(home: Home, words: list[str], folder: Path) -> str:
    """Run a command of the page; files that it names are in *folder*."""
    words = [str(folder / word) if word.endswith(".tar.gz") else word for word in words]
    async with prompt(*words, "--home", str(home.path)) as shown:
        return await shown.ends()


async def test_the_tutorial_leads_where_it_says(tmp_path: Path) -> None:
    """Every command works on a new home, and shows what the page says of it."""
    home = Home(tmp_path / "home")
    at = ("--home", str(home.path))
    async with OpenAIStub(knows) as model, BotApi() as telegram, prompt("up", *at) as gateway:
        await until_running(gateway)
        told = [await done(home, words, tmp_path) for words in step(2)]
        assert "Vaillant" in told[2]
        assert "memory/" in told[2]
        assert re.search(r"\d+ of \d+ facts findable", told[3])
        assert "Ruth and Paul" in told[4]
        changed = [await done(home, words, tmp_path) for words in step(3)]
        assert changed[1].index("October") < changed[1].index("September")
        assert "Undone" in changed[2]
        assert "memory: update MEMORY.md" in changed[3]
        ((connect, *rest),) = step(4)
        words = ("--provider", "openai", "--model", "stub-1", "--base-url", model.url)
        async with prompt(connect, *rest, *words, *at) as shown:
            await shown.sees("Key of openai")
            shown.types(KEY)
            await shown.ends()
        assert step(5) == [["connect", "telegram"]]
        await connect_telegram(at[1], telegram)
        assert "You are" not in await asked(telegram, "hello")
        telegram.join(GROUP)
        ((*allow,),) = step(6)
        assert "Taken up" in await done(home, allow, tmp_path)
        before = len(telegram.sent)
        telegram.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
        assert (await telegram.wait_for_sent(before + 1, 30))[before].chat == GROUP
        jobs = [await done(home, words, tmp_path) for words in step(7)]
        assert "put the bins out" in jobs[1]
        kept = [await done(home, words, tmp_path) for words in step(8)]
        assert "all checksums match" in kept[1]
        assert "ok    model" in kept[2]
