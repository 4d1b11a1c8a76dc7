"""Journeys of somebody who installed packages of strangers into their gateway."""

from pathlib import Path

from gateway.control.status_wire import StatusOrder
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.packages import Install
from tests.fakes.provider_stub import Reply, call, steps
from tests.gateway.test_plugins import CODE, SMOKE
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running
from tests.journeys.test_tutorial import blocks


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
            state = await app.operator.ask(StatusOrder())
    channels = {each.channel: each for each in state.channels}
    assert channels["telegram"].state == "listening"
    assert channels["fog"].state == "refused"
    assert 'broken: the entry point "fog" of strandline.channels' in channels["fog"].reason
    assert "No module named 'not_there'" in channels["fog"].reason
    assert channels["smoke"].reason == (
        'smoke-signals: the entry point "smoke" of strandline.channels (smoke_signals:Settings) cannot open '
        "channels.smoke.home: OSError: no hill in sight; update the package, or: pip uninstall smoke-signals"
    )
    assert [each for each in state.troubles if each.startswith('broken: the entry point "telegram"')]


HAZARD = """
from gateway.config import BotSettings
from strandline.channels import Body

class Settings(BotSettings):
    channel = "smoke"
    needs_token = False

    def open(self, account, resources):
        return Hazard(account)

class Hazard:
    channel = "smoke"

    def __init__(self, account):
        self.account = account

    def render(self, markdown):
        return [Body(markdown)]

    async def listen(self, receive):
        raise KeyError("smoke")

    async def show_menu(self, entries, owners):
        raise KeyError("menu")

    async def close(self):
        raise KeyError("close")
"""


async def test_a_package_that_fails_while_it_runs_stops_nothing_else(install: Install, tmp_path: Path) -> None:
    """Its channel raises in listen(), in its menu and at the end, its hook cannot be loaded: Telegram still answers."""
    install("smoke-signals", SMOKE, HAZARD)
    install("house-rules", "[strandline.hooks]\nguard = house_rules\n", "import not_there")
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        home.write(home.config_file, f'{home.config_file.read_text()}\n[channels.smoke.home]\ndirect = "pairing"\n')
        async with running(home) as app:
            bot.says(OWNER, "/whoami")
            await bot.wait_for_sent(1)
            state = await app.operator.ask(StatusOrder())
    (smoke,) = [each for each in state.channels if each.channel == "smoke"]
    assert smoke.state == "waiting"
    assert smoke.reason == (
        'smoke-signals: the entry point "smoke" of strandline.channels (smoke_signals:Settings) failed in listen(): '
        "KeyError: 'smoke'; update the package, or: pip uninstall smoke-signals"
    )
    assert [each for each in state.troubles if each.startswith('house-rules: the entry point "guard"')] != []


async def test_a_command_of_a_package_is_the_owners_in_their_own_chat(install: Install, tmp_path: Path) -> None:
    """The page's command runs there and fails with its sentence; elsewhere it is refused, for others there is none."""
    shown = blocks("A command")
    entries = shown["pyproject.toml"].replace('[project.entry-points."strandline.commands"]', "[strandline.commands]")
    install("dice-command", entries.replace('"', ""), shown["dice_command.py"])
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        async with running(home) as app:
            bot.says(OWNER, "/roll 20")
            bot.says(OWNER, "/roll coin")
            bot.says(OWNER, "/help all")
            await bot.wait_for_sent(3)
            bot.says(GROUP, "/roll@strand_bot", user_id=OWNER, chat_type="supergroup")
            await bot.wait_for_sent(4)
            bot.says(GROUP, "/roll@strand_bot", user_id=8, chat_type="supergroup")
            await bot.wait_for_sent(5)
            assert (await app.operator.ask(StatusOrder())).troubles == ()
    rolled, wrong, listed, elsewhere, unknown = (sent.text for sent in bot.sent)
    assert "of 20." in rolled
    assert "say how many sides" in wrong
    assert "/roll [sides]" in listed
    assert "works only in your own chat" in elsewhere
    assert "There is no command /roll here" in unknown


TAKEN = """
from strandline.commands import command

async def new(call):
    \"\"\"Begin\"\"\"
    return "not ours"

async def twice(call):
    \"\"\"Do it\"\"\"
    return "whose?"

def commands(_):
    return [command(new), command(twice)]
"""


async def test_commands_that_cannot_be_used_are_named_and_ours_work(install: Install, tmp_path: Path) -> None:
    """A taken name, one that two packages claim, a package that cannot be imported, one that makes something else."""
    for name, code in {
        "one": TAKEN,
        "two": TAKEN,
        "three": "import not_there",
        "four": "def commands(_): return [3]",
        "five": TAKEN.replace("command(new)", "command(new, who=nobody)"),
    }.items():
        install(name, f"[strandline.commands]\n{name} = {name}:commands\n", code)
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        async with running(home) as app:
            bot.says(OWNER, "/new")
            bot.says(OWNER, "/twice")
            await bot.wait_for_sent(2)
            troubles = (await app.operator.ask(StatusOrder())).troubles
    assert [sent.text for sent in bot.sent if "not ours" in sent.text or "whose?" in sent.text] == []
    remedy = "pip uninstall one, or ask its authors for another name"
    assert [each.partition(" cannot be loaded: ")[2].partition(";")[0] or each for each in sorted(troubles)] == [
        "NameError: name 'nobody' is not defined",
        "it does not return Command",
        f"one, two: the name /new is taken; Strandline's own is used: {remedy}",
        f"one, two: the name /twice is taken; none of them is used: {remedy}",
        "ModuleNotFoundError: No module named 'not_there'",
    ]


async def test_a_tool_of_a_package_is_offered_to_the_owner_in_their_own_chat(install: Install, tmp_path: Path) -> None:
    """The page's tool is called there; the model of a group knows no such tool; one that cannot be loaded is named."""
    shown = blocks("A tool")
    entries = shown["pyproject.toml"].replace('[project.entry-points."strandline.tools"]', "[strandline.tools]")
    install("tide-tool", entries.replace('"', ""), shown["tide_tool.py"])
    install("broken-tool", "[strandline.tools]\nbroken = broken_tool:tools\n", "import not_there")
    script = steps(Reply(calls=(call("tide", harbour="Husum"),)), "At ten past two.", "I cannot know.")
    async with BotApi() as bot, OpenAIStub(script) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home) as app:
            bot.says(OWNER, "when is high water in Husum?")
            await bot.wait_for_sent(1)
            bot.says(GROUP, "@strand_bot when is high water?", user_id=OWNER, chat_type="supergroup")
            await bot.wait_for_sent(2)
            troubles = (await app.operator.ask(StatusOrder())).troubles
    offered = [{each["function"]["name"] for each in body["tools"]} for body in provider.bodies]
    assert "tide" in offered[0]
    assert offered[0] >= {"read_file", "memory_search", "add_note"}
    assert "tide" not in offered[2]
    (result,) = [each for each in provider.bodies[1]["messages"] if each["role"] == "tool"]
    assert "Husum, " in result["content"]
    assert [each for each in troubles if "No module named 'not_there'" in each] != []


async def test_a_model_of_a_package_answers_and_gives_way(install: Install, tmp_path: Path) -> None:
    """The page's provider answers by its program; once the program fails, the fallback model answers."""
    shown = blocks("A model provider")
    entries = shown["pyproject.toml"].replace('[project.entry-points."strandline.models"]', "[strandline.models]")
    install("program-model", entries.replace('"', ""), shown["program_model.py"])
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ngrep -o 'please.*' || exit 3\n", "utf-8")
    program.chmod(0o700)
    text = shown["config.toml"].replace("llm --model llama3", f"{program} -")
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        text = home.config_file.read_text("utf-8").replace("[agents.main]", f'{text}fallbacks = ["offline"]')
        home.write(home.config_file, text)
        async with running(home) as app:
            bot.says(OWNER, "please echo")
            await bot.wait_for_sent(1)
            program.write_text("#!/bin/sh\nexit 3\n", "utf-8")
            bot.says(OWNER, "what do you know of Husum?")
            await bot.wait_for_sent(2)
            state = await app.operator.ask(StatusOrder())
    assert bot.sent[0].text == "please echo"
    assert "The language model gives no answer now" in bot.sent[1].text
    assert [each.partition(" ")[0] for each in state.troubles if "program" in each] == ["models.local"]
