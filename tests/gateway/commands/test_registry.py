"""What is a command, who may run which, and what nobody runs."""

import itertools
from dataclasses import replace

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender, Via
from gateway.admission.internal_channels import CLOCK
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.registry import Commands, Unknown
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MEMBER, OWNER, OWNER_IN_GROUP, POLICY, STRANGER, House
from workspaces.access import Locality


async def nothing(_: CommandCall) -> str:
    return "done"


def command(name: str, who: Who = Who.ANYONE) -> Command:
    return Command(name, "", "does nothing", who, True, nothing)


REGISTRY = Commands([command("remember"), command("status", Who.MAIN), command("why_not")], POLICY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/remember", ("remember", "")),
        ("  /remember\n", ("remember", "")),
        ("/Remember me", ("remember", "me")),
        ("/REMEMBER@Strand_Bot  two  words ", ("remember", "two  words")),
        ("/remember\nline one\nline two", ("remember", "line one\nline two")),
        ("/why_not", ("why_not", "")),
        ("/start", ("start", "")),
        ("/help me", ("help", "me")),
        ("/remmeber the key", "remmeber"),
        ("/statsu", "statsu"),
        ("/xyz", "xyz"),
        ("/xyz@other_bot", "xyz"),
        ("/tmp is full, can you help?", None),
        ("/etc/hosts is broken", None),
        ("/remember/this", None),
        ("/remember, please", None),
        ("/", None),
        ("//remember", None),
        ("/ remember", None),
        ("/1", None),
        ("/ünicode", None),
        ("remember /status", None),
        ("\\/remember", None),
        ("", None),
        (f"/{'x' * 33}", None),
    ],
)
def test_what_a_message_orders(text: str, expected: tuple[str, str] | str | None) -> None:
    """A command by its name, in any case, with the bot's name or without; a lone or mistyped one is unknown."""
    match REGISTRY.parse(text):
        case (found, arguments):
            assert (found.name, arguments) == expected
        case Unknown(name):
            assert name == expected
        case None:
            assert expected is None


@pytest.mark.parametrize("names", [("two", "two"), ("help",), ("Big",), ("a-b",), ("x" * 33,), ("",)])
def test_a_registry_refuses_names_that_cannot_be(names: tuple[str, ...]) -> None:
    """Not twice the same, none of its own, and none that a platform's menu would not take."""
    with pytest.raises(ValueError, match="name"):
        Commands(map(command, names), POLICY)


# --- every command × every principal × every way in

GUEST_BY_NAME = replace(OWNER_IN_GROUP, sender=Sender("8", "Owner"))
"""Somebody who calls themselves like the owner."""
NOBODY_IN_GROUP = replace(MEMBER, sender=Sender("", "Owner"))
BOT = replace(OWNER, sender=Sender("7", "Owner", is_bot=True))
OTHER_GROUP = replace(OWNER_IN_GROUP, address=replace(MEMBER.address, chat="-200"))
MAY: dict[str, tuple[InboundMessage, set[Who]]] = {
    "owner": (OWNER, set(Who)),
    "owner in a group": (OWNER_IN_GROUP, {Who.ANYONE, Who.OWNER, Who.CHAT, Who.ENDER}),
    "member": (MEMBER, {Who.ANYONE}),
    "member with the owner's name": (GUEST_BY_NAME, {Who.ANYONE}),
    "anonymous in a group": (NOBODY_IN_GROUP, {Who.ANYONE}),
}
REFUSED = {
    "stranger": STRANGER,
    "a bot with the owner's id": BOT,
    "the owner in a group that is not allowed": OTHER_GROUP,
    "a member who names nobody": replace(MEMBER, is_for_us=False),
}
WAYS = ("/{name}", "/{name} alpha", "/{NAME}", "/{name}@strand_bot alpha", " /{name}\nalpha")


def spied(house: House) -> list[str]:
    """Add a command for each kind of asker, which notes that it ran."""
    ran: list[str] = []

    def noting(who: Who) -> Command:
        async def run(call: CommandCall) -> str:
            ran.append(f"{who}:{call.arguments}")
            return "done"

        return Command(f"for_{who}", "", "notes that it ran", who, False, run)

    house.extra = [noting(who) for who in Who]
    return ran


@pytest.mark.parametrize("principal", MAY)
async def test_a_command_runs_for_whom_it_is_meant_and_for_nobody_else(house: House, principal: str) -> None:
    """By every way to write it; a refusal is one sentence, and no model is asked."""
    ran = spied(house)
    message, allowed = MAY[principal]
    for who, way in itertools.product(Who, WAYS):
        ran.clear()
        text = way.format(name=f"for_{who}", NAME=f"FOR_{who.upper()}")
        answer = await house.says(text, message)
        assert (answer == "done", len(ran)) == (who in allowed, who in allowed), text
    assert isinstance(house.model, ScriptedModel)
    assert house.model.requests == []


@pytest.mark.parametrize("name", ["checkup", "cron", "promises", "summarize", "why"])
async def test_what_quotes_the_stored_is_refused_where_no_marked_text_may_be_shown(house: House, name: str) -> None:
    """A chat app then learns neither of proposals nor of jobs; elsewhere the command runs."""
    refused = f"/{name} quotes what may be marked `house`: use it on the page or in the terminal."
    assert await house.says(f"/{name}") != refused
    house.chat_reader = Locality.ELSEWHERE
    assert await house.says(f"/{name}") == refused


@pytest.mark.parametrize("principal", MAY)
async def test_every_command_is_refused_like_one_that_is_not_there(house: House, principal: str) -> None:
    """Who may not run it changes and sees nothing, and cannot tell that there is such a command, but for `/new`."""
    house.put("MEMORY.md", "# Memory\n\n- heron\n")
    message, allowed = MAY[principal]
    before = house.files()
    for each in house.commands.all:
        if each.who in allowed:
            continue
        answer = await house.says(f"/{each.name} heron", message)
        if message is OWNER_IN_GROUP:
            assert answer == f"/{each.name} works only in your own chat with me, where nobody else reads."
        elif each.who is Who.ENDER:
            assert answer.startswith(
                f"/{each.name} is not for you here: only my owner, and people named by them, can end this conversation"
            )
        else:
            assert answer.startswith(f"There is no command /{each.name} here.")
    assert house.files() == before
    assert isinstance(house.model, ScriptedModel)
    assert house.model.requests == []


@pytest.mark.parametrize("principal", REFUSED)
async def test_strangers_get_no_command_no_answer_and_no_model_call(house: House, principal: str) -> None:
    """Whatever they order: their messages end at the door."""
    before = house.files()
    for each in house.commands.all:
        assert await house.says(f"/{each.name} heron", REFUSED[principal]) == ""
    assert await house.says("/nothing", REFUSED[principal]) == ""
    assert isinstance(house.model, ScriptedModel)
    assert (house.files(), house.model.requests) == (before, [])
    assert not (house.folder / "sessions").exists()


@pytest.mark.parametrize("principal", MAY)
async def test_no_command_tells_a_group_what_is_private(house: House, principal: str) -> None:
    """With any arguments, every command that a chat may run answers from that chat's own notes alone."""
    house.put("MEMORY.md", "# Memory\n\n- the vault opens with heron\n")
    house.put("memory/2026-02-28.md", "- 10:00 heron again\n")
    house.put("memory/shared/telegram.home.-200/2026-02-28.md", "- 10:00 another heron\n")
    message, _ = MAY[principal]
    if message.kind is ChatKind.DIRECT:
        return
    before = {path: text for path, text in house.files().items() if "heron" in text}
    for each in house.commands.all:
        for arguments in ("", "heron", "vault", "the vault opens with heron", "MEMORY.md#L3-L3", "#L3", "1", "all"):
            if each.name == "remember":
                continue
            answer = await house.says(f"/{each.name} {arguments}", message)
            assert "heron" not in answer.replace(f"/{each.name} {arguments}", "").replace(f"“{arguments}”", ""), each
    assert {path: text for path, text in house.files().items() if path in before} == before


async def test_where_nobody_has_to_name_us_other_bots_commands_are_left_alone(house: House) -> None:
    """One that is addressed to another bot, or that we do not have, is answered by silence; ours is answered."""
    unasked = replace(MEMBER, is_for_us=False)
    open_group = AccountPolicy(DirectPolicy.OWNER, {"-100": GroupPolicy(mention=False)})
    house.policy = Policy(POLICY.owners, {("telegram", "home"): open_group})
    assert "`telegram:8`" in await house.says("/whoami", unasked)
    for text in ("/whoami@other_bot", "/poll", "/poll@other_bot", "/status"):
        assert await house.says(text, unasked) == ""
    assert isinstance(house.model, ScriptedModel)
    assert (house.model.requests, await house.store.inbox.waiting()) == ([], [])


# --- help


@pytest.mark.parametrize("principal", MAY)
async def test_help_lists_what_the_asker_may_run(house: House, principal: str) -> None:
    """And nothing else; from the registry, so that it cannot be behind."""
    spied(house)
    message, allowed = MAY[principal]
    told = await house.says("/help all", message)
    listed = {line.split("`")[1].split()[0] for line in told.splitlines() if line.startswith("- `/")}
    assert listed == {f"/{each.name}" for each in house.commands.all if each.who in allowed} - {"/start"}


async def test_help_is_short_at_first(house: House) -> None:
    """Two groups of five at most, and how many more there are."""
    told = await house.says("/help")
    listed = [line for line in told.splitlines() if line.startswith("- `/")]
    everything = [line for line in (await house.says("/help all")).splitlines() if line.startswith("- `/")]
    assert 0 < len(listed) <= 10
    assert f"`/help all` lists {len(everything) - len(listed)} more." in told
    assert set(listed) < set(everything)


async def test_the_agent_introduces_itself_at_start(house: House) -> None:
    """Its model does to its owner, led by BOOTSTRAP.md; others get a fixed sentence, which costs no model call."""
    assert isinstance(house.model, ScriptedModel)
    await house.says("/start")
    assert len(house.model.requests) == 1
    assert "nobody else" not in await house.says("/start", MEMBER)
    assert len(house.model.requests) == 1


async def test_an_unknown_command_is_told_with_the_nearest_one(house: House) -> None:
    """The nearest of those that the asker may use; what is private is not even guessed at."""
    assert "Did you mean /remember?" in await house.says("/remmeber the key")
    assert "/help" in await house.says("/xyz")
    assert "Did you mean /status?" in await house.says("/statsu")
    assert "Did you mean" not in await house.says("/statsu", MEMBER)


async def test_a_path_is_a_message_for_the_agent(house: House) -> None:
    """It is answered by the model as ever."""
    house.model = ScriptedModel("Look into it.")
    assert await house.says("/etc/hosts is broken") == "Look into it."


async def test_commands_that_need_no_model_pass_a_message_that_waits_for_one(house: House) -> None:
    """Those that only read, and `/model`; other commands, edits and our own text keep their place."""
    commands = house.commands
    passing = {each.name for each in commands.all if each.passes}
    reading = {"agents", "context", "help", "history", "memory", "promises", "status", "whoami", "why"}
    assert passing == {*reading, "model"}
    assert all(each.repeatable for each in commands.all if each.passes)
    assert commands.passes(replace(OWNER, text="/stauts"))
    assert not commands.passes(replace(OWNER, text="/new"))
    assert not commands.passes(replace(OWNER, text="/status", via=Via.EDIT))
    assert not commands.passes(replace(OWNER, text="/status", address=Address(CLOCK, "main", "1")))
    assert not commands.passes(replace(OWNER, text="hello"))
