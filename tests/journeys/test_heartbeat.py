"""Delivery of a heartbeat's message to the owner alone, in a whole gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.app.app import App
from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from gateway.stores.rows import OutboxRow
from tests.fakes.botapi import BotApi
from tests.fakes.discord import Discord
from tests.fakes.discord_shapes import BOT_ID, CHANNEL, DIRECT
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Call, Reply, Script, Step
from tests.gateway.web.browsing import a_code, browser_at, until
from tests.gateway.web.house import open_house
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running
from tests.journeys.test_discord import STRANGER, configure
from workspaces.access import AgentId

MAIN = AgentId("main")
NEWS = "The plants are dry."
OK = "HEARTBEAT_OK"
TELLS = Reply(calls=(Call("notify", json.dumps({"text": NEWS}), "c1"),))


def model_says(heartbeat: Step, everybody: str = "Good day.") -> Script:
    """A model that says *heartbeat* to a heartbeat, and the same to everybody else."""

    def step(body: Body) -> Step:
        said = json.dumps(body["messages"])
        return heartbeat if "Heartbeat: nobody wrote" in said and '"tool"' not in said else everybody

    return step


def lists(home: Home, *lines: str) -> None:
    (home.agent("main").workspace / "HEARTBEAT.md").write_text("\n".join(lines) + "\n", "utf-8")


async def beats(app: App) -> list[str]:
    """Have a heartbeat asked for; return which channels it is told in, once it is told there."""
    assert await app.parts.heartbeats.now(MAIN) == 1
    await app.parts.lanes.idle()
    told = [row for row in await app.parts.resources.home.store.outbox.unfinished() if row.outgoing.text == NEWS]
    for row in told:
        if row.outgoing.address.channel != "terminal":
            await app.parts.delivery.finished(row.id)
    return [row.outgoing.address.channel for row in told]


@asynccontextmanager
async def on_telegram(folder: Path, script: Script) -> AsyncIterator[tuple[App, BotApi]]:
    """Run a gateway with a bot in a group, where somebody wrote last and was answered."""
    async with BotApi() as bot, OpenAIStub(script) as model:
        home = make_home(folder / "home", bot.url, openai_section(model.url))
        lists(home, "- [ ] daily 09:00 look at the plants")
        async with running(home) as app, asyncio.timeout(PATIENCE_S):
            bot.says(OWNER, "hello")
            await bot.wait_for_sent(1)
            bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
            await bot.wait_for_sent(2)
            yield app, bot


async def test_on_telegram_it_reaches_the_owner_though_a_group_wrote_last(tmp_path: Path) -> None:
    """Also if it was the owner who wrote in the group."""
    async with on_telegram(tmp_path, model_says(TELLS)) as (app, bot):
        await beats(app)
        sent = [(message.chat, message.text) for message in await bot.wait_for_sent(3)]
    assert sent[1:] == [(GROUP, "Good day."), (OWNER, NEWS)]


async def test_on_discord_it_reaches_the_owner_though_a_channel_wrote_last(tmp_path: Path) -> None:
    """In the direct chat where the owner wrote once."""
    async with Discord() as server, OpenAIStub(model_says(TELLS)) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        configure(home, server, tmp_path)
        lists(home, "- [ ] daily 09:00 look at the plants")
        async with running(home) as app, asyncio.timeout(PATIENCE_S):
            server.says("it is me", DIRECT)
            await server.wait_for_posted(1)
            server.says(f"<@{BOT_ID}> hello", CHANNEL, STRANGER)
            await server.wait_for_posted(2)
            assert await beats(app) in (["discord"], [])
            await server.wait_for_posted(3)
    assert [(each.channel, each.text) for each in server.posted][1:] == [(CHANNEL, "Good day."), (DIRECT, NEWS)]


async def test_in_the_terminal_it_waits_for_the_owner(tmp_path: Path) -> None:
    """Where there is no bot at all; it is shown with the next thing that they say."""
    heard: list[str] = []

    async def hears(text: str, _: bool) -> None:
        heard.append(text)

    async with OpenAIStub(model_says(TELLS)) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        lists(home, "- [ ] daily 09:00 look at the plants")
        async with running(home) as app, asyncio.timeout(PATIENCE_S):
            assert await beats(app) == ["terminal"]
            await app.operator.chat(ChatOrder("hello"), hears)
    assert heard[:2] == [NEWS, "Good day."]


async def test_who_asks_by_http_hears_nothing_of_it(tmp_path: Path) -> None:
    """A guest's program asked last, and gets its own answer alone; the page is not open, so the terminal keeps it."""
    async with open_house(tmp_path, model_says(TELLS)) as house, asyncio.timeout(PATIENCE_S):
        (tmp_path / "home/agents/main/workspace/HEARTBEAT.md").write_text("- [ ] daily 09:00 plants\n", "utf-8")
        asked = await house.guest.chat.completions.create(model="main", messages=[{"role": "user", "content": "hello"}])
        assert asked.choices[0].message.content == "Good day."
        assert await beats(house.app) == ["terminal"]


async def test_on_the_page_it_reaches_the_owner_though_a_guest_wrote_last(tmp_path: Path) -> None:
    """On the page of its own agent, and on no other; the guest's program gets its own answer alone."""
    async with open_house(tmp_path, model_says(TELLS)) as house, asyncio.timeout(PATIENCE_S):
        lists(Home(tmp_path / "home"), "- [ ] daily 09:00 look at the plants")
        async with browser_at(house.address) as browser:
            await browser.sign_in(await a_code(house))
            async with browser.events() as page, browser.events(agent="work") as other:
                await until(page, "history")
                await until(other, "history")
                await browser.say("hello")
                assert (await until(page, "answer"))["text"] == "Good day."
                hello = [{"role": "user", "content": "hello"}]
                asked = await house.guest.chat.completions.create(model="main", messages=hello)  # type: ignore[arg-type]
                assert await beats(house.app) in (["web"], [])
                assert (await until(page, "answer"))["text"] == NEWS
                await browser.say("who are you?", agent="work")
                assert NEWS not in (await until(other, "answer"))["text"]
        again = await house.guest.chat.completions.create(model="main", messages=hello)  # type: ignore[arg-type]
    assert [each.choices[0].message.content for each in (asked, again)] == ["Good day."] * 2


async def test_the_word_of_silence_is_never_shown(tmp_path: Path) -> None:
    """Not as an answer, not as a draft, to no chat; a person's answer that ends with it comes without it."""
    said = f"Good day.\n\n{OK}"
    async with on_telegram(tmp_path, model_says(f"Nothing new.\n\n**{OK}**", said)) as (app, bot):
        assert await beats(app) == []
        bot.says(OWNER, "hello")
        sent = [(message.chat, message.text) for message in await bot.wait_for_sent(3)]
        assert sent[1:] == [(GROUP, "Good day."), (OWNER, "Good day.")]
        assert (await app.parts.heartbeats.standing(MAIN)).outcome == "silent"
        no_answers = {"getUpdates", "setMyCommands"}
        shown = json.dumps([each.params for each in bot.requests if each.method not in no_answers], default=str)
    assert "HEARTBEAT" not in shown.upper()


async def test_a_change_that_a_heartbeat_proposes_the_owner_is_asked_about(tmp_path: Path) -> None:
    """In their own chat: a heartbeat has none of its own."""
    call = Call("write_file", json.dumps({"path": "skills/tea/SKILL.md", "content": "Green.\n"}), "c1")
    async with on_telegram(tmp_path, model_says(Reply(calls=(call,)))) as (app, bot):
        await beats(app)
        sent = await bot.wait_for_sent(3)
        assert [message.chat for message in sent] == [OWNER, GROUP, OWNER]
        assert "skills/tea/SKILL.md" in sent[2].text


async def test_the_owner_asks_how_it_stands(tmp_path: Path) -> None:
    """And turns it off and on, in their own chat."""
    said: list[str] = []

    async def hears(text: str, _: bool) -> None:
        said.append(text)

    async with OpenAIStub(model_says(OK)) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        lists(home, "- [ ] daily 09:00 look at the plants", "- [ ] daily 99:00 nothing")
        async with running(home) as app, asyncio.timeout(PATIENCE_S):
            for words in ("", " now", " off", " on", " perhaps"):
                await app.operator.chat(ChatOrder(f"/heartbeat{words}"), hears)
            status = (await app.operator.ask(StatusOrder())).agents[0].heartbeat
    answers = [each for each in said if "cannot process:" not in each]
    assert "is on. 1 item on my list" in answers[0]
    assert "daily 99:00" in answers[0]
    assert "I am checking 1 item now" in answers[1]
    assert "is off" in answers[2]
    assert "is on" in answers[3]
    assert "/heartbeat now" in answers[4]
    assert (status.state, status.items) == ("on", 1)


async def test_boot_is_run_when_the_gateway_starts(tmp_path: Path) -> None:
    """By the gateway's own task, which also looks what is due."""
    is_told = asyncio.Event()

    def step(body: Body) -> Step:
        return OK if body["messages"][-1]["role"] == "tool" else TELLS

    async with OpenAIStub(step) as model:
        home = make_home(tmp_path / "home", model=openai_section(model.url))
        (home.agent("main").workspace / "BOOT.md").write_text("Say that you are up.\n", "utf-8")
        async with running(home) as app, asyncio.timeout(PATIENCE_S):
            app.parts.outcomes._listeners.append(
                lambda row, _: is_told.set() if row.message.id[:5] == "boot:" else None
            )
            await is_told.wait()
            told = [(row.outgoing.address.channel, row.outgoing.text) for row in await unfinished(app)]
    assert told == [("terminal", NEWS)]


async def unfinished(app: App) -> list[OutboxRow]:
    return list(await app.parts.resources.home.store.outbox.unfinished())
