"""Strangers, guests and groups, from the platform to the model and back."""

import json
from pathlib import Path

from gateway.control.admission_wire import RouteOrder, SilencesOrder
from gateway.control.status_wire import StatusOrder
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

EVE = 99
PRIVATE = "the vault is behind the heron"


async def test_a_stranger_becomes_a_guest_by_a_code_and_a_stranger_again(tmp_path: Path) -> None:
    """One code; the owner approves it in their own chat; the guest talks, and sees nothing private; then no more."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        (home.agent("main").workspace / "MEMORY.md").write_text(f"# Memory\n\n- {PRIVATE}\n")
        async with running(home):
            bot.says(EVE, "hello?")
            (greeting,) = await bot.wait_for_sent(1)
            (code,) = [line for line in greeting.text.splitlines() if line[5:6] == "-"]
            bot.says(EVE, "/pair approve " + code)
            bot.says(OWNER, f"/pair approve {code}")
            sent = (await bot.wait_for_sent(4))[1:]
            (let_in,) = [each for each in sent if each.text.startswith("Person 99 (telegram:99) may now write to")]
            (welcome,) = [each for each in sent if each.chat == EVE]
            (rung,) = [each for each in sent if each not in (let_in, welcome)]
            assert provider.bodies == []
            bot.says(EVE, "what is in the vault?")
            assert (await bot.wait_for_sent(5))[4].chat == EVE
            bot.says(OWNER, f"/pair revoke telegram:{EVE}")
            await bot.wait_for_sent(6)
            bot.says(EVE, "are you there?")
            again, rung_again = sorted((await bot.wait_for_sent(8))[6:], key=lambda each: -each.chat)
            bot.says(OWNER, "/why silence")
            told = (await bot.wait_for_sent(9))[8]
        (request,) = provider.bodies
    assert PRIVATE not in json.dumps(request)
    assert (greeting.chat, again.chat, told.chat) == (EVE, EVE, OWNER)
    assert {each.chat for each in (rung, rung_again)} == {OWNER}
    assert code in rung.text
    assert welcome.text.startswith("You have been approved")
    assert again.text != greeting.text  # another code: whoever was revoked is a stranger like any other
    assert PRIVATE not in greeting.text
    assert f"telegram.home.{EVE}, telegram:{EVE}: 3 times, because they have not been approved" in told.text


async def test_the_owner_lets_in_and_refuses_by_a_press(tmp_path: Path) -> None:
    """The notice's buttons are `/pair`: whoever asks cannot press them, and a second press finds nobody."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home):
            bot.join(OWNER)
            bot.says(EVE, "hello?")
            sent = await bot.wait_for_sent(2)
            (rung,) = [each for each in sent if each.buttons]
            ((approve, _),) = rung.buttons
            for person in (EVE, OWNER, OWNER):
                bot.presses(person, rung.message_id, approve["callback_data"])
            sent = (await bot.wait_for_sent(5))[2:]
            decided = [each for each in sent if each.chat == OWNER]
            bot.says(EVE, "may I?")
            assert [each.text for each in (await bot.wait_for_sent(6))[5:]] == ["Good day."]
            bot.says(98, "and me?")
            sent = (await bot.wait_for_sent(8))[6:]
            (rung,) = [each for each in sent if each.buttons]
            ((_, refuse),) = rung.buttons
            bot.presses(OWNER, rung.message_id, refuse["callback_data"])
            refused = (await bot.wait_for_sent(9))[8]
            bot.says(98, "please?")
            bot.says(EVE, "still there?")
            assert (await bot.wait_for_sent(10))[9].chat == EVE
    assert {each.chat for each in (rung, *decided, refused)} == {OWNER}
    assert decided[0].text.startswith("Person 99 (telegram:99) may now write")
    assert decided[1].text.startswith("no pending request has that code")
    assert refused.text.startswith("Person 98 (telegram:98) was refused")
    assert len(provider.bodies) == 2


async def test_what_a_group_said_before_comes_with_the_question(tmp_path: Path) -> None:
    """As others' words, each line with its author; and the silence before it can be explained."""
    async with BotApi() as bot, OpenAIStub(lambda _: "At ten.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home) as app:
            bot.says(GROUP, "the boat leaves at ten\nor eleven", user_id=8, chat_type="supergroup")
            bot.says(GROUP, "@strand_bot when does it leave?", user_id=9, chat_type="supergroup")
            await bot.wait_for_sent(1)
            bot.says(GROUP, "@strand_bot and now?", user_id=9, chat_type="supergroup")
            await bot.wait_for_sent(2)
            answer = await app.operator.ask(SilencesOrder(str(GROUP)))
            explained = await app.operator.ask(RouteOrder("telegram", "home", str(GROUP), person="8"))
        first, second = (body["messages"][-1]["content"] for body in provider.bodies)
        lines = [line.strip() for line in first.splitlines() if line.strip().startswith("> 2")]
        assert [line[len("> 2026-03-01 14:05 ") :] for line in lines] == [
            "Person 8: the boat leaves at ten",
            "Person 8: or eleven",
        ]
        assert "> 2" not in second
        (silence,) = answer.silences
        assert (silence.person, silence.reason, silence.mend[:11]) == ("telegram:8", "not_for_us", "mention the")
        assert (explained.agent, explained.session_type, explained.reason) == ("main", "group", "not_for_us")


async def test_a_misspelt_policy_stops_its_bot_alone(tmp_path: Path) -> None:
    """The other bot listens and answers; the status says what is wrong with this one."""
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        wrong = '\n[channels.telegram.wrong]\ntoken_env = "BOT_TOKEN"\ndirect = "open"\n'
        home.write(home.config_file, home.config_file.read_text() + wrong)
        async with running(home) as app:
            bot.says(OWNER, "/whoami")
            await bot.wait_for_sent(1)
            channels = {each.account: each for each in (await app.operator.ask(StatusOrder())).channels}
    assert channels["home"].state == "listening"
    assert channels["wrong"].state == "refused"
    assert 'channels.telegram.wrong.direct: "open" is not a policy' in channels["wrong"].reason
