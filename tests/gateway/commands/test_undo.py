"""What an answer wrote into memory is taken back or corrected, by a press, a reply or a command."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from adapters.channel import Address, Button, InboundMessage, Quote, Sender, Via
from gateway.admission.internal_channels import heartbeat_address
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import route
from gateway.agent.entries import ReplyEntry, ResultEntry, Usage
from gateway.agent.write_policy import ApprovalReason
from gateway.commands.command import Asker
from gateway.commands.offers import buttons_for
from gateway.inbound.turn_mark import chat_mark, mark_of
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import MAIN, MEMBER, OWNER, OWNER_IN_GROUP, ROUTES, SHARED, House
from workspaces.history import LogQuery, Origin

GUEST = replace(OWNER, address=Address("telegram", "home", "9"), sender=Sender("9", "Gus"))
WITH_GUEST = Policy(
    frozenset({"telegram:7"}),
    {
        ("telegram", "home"): AccountPolicy(
            DirectPolicy.PAIRING, {"-100": GroupPolicy()}, people=frozenset({"telegram:9"})
        )
    },
)


async def buttons(house: House, text: str, message: InboundMessage = OWNER) -> tuple[Button, ...]:
    """Return the buttons below the answer to *text*, once the history has what its turn wrote."""
    row = await house.take_in(text, message)
    await house.answer(row)
    await house.history_writer.catch_up()
    (reply,) = [each.outgoing for each in await house.store.outbox.unfinished() if each.turn_id == row.turn_id]
    return reply.buttons


async def press(house: House, button: Button, message: InboundMessage = OWNER) -> str:
    return await house.says(button.command, replace(message, via=Via.BUTTON, target="1"))


async def test_a_press_takes_back_exactly_that_write_and_a_second_press_nothing(house: House) -> None:
    """Whatever was written since stays; the history has it as a change of its own, which can be looked up."""
    house.put("MEMORY.md", "# Memory\n\n## Notes\n\n- the owner's own\n")
    undo, correct = await buttons(house, "/remember Ann likes tea")
    assert (undo.label, correct.label) == ("Undo", "Correct")
    await buttons(house, "/remember Ann likes milk")
    told = await press(house, undo)
    assert "Undone in `MEMORY.md`" in told
    assert "> - Ann likes tea" in told
    after = "# Memory\n\n## Notes\n\n- the owner's own\n- Ann likes milk\n"
    assert house.text("MEMORY.md") == after
    assert await press(house, undo) == "That was already undone."
    assert house.text("MEMORY.md") == after
    await house.history_writer.catch_up()
    newest, *_ = (await house.history_writer.history()).view(house.access()).log(LogQuery())
    assert newest.origin is not None
    assert f"/undo {newest.origin.undoes}" == undo.command


async def test_two_notes_alike_are_two_notes(house: House) -> None:
    """The second press of a button does not take the line that the owner wrote in the same words."""
    house.model = ScriptedModel(says("", call("add_note", text="Ann likes tea")), "Noted.")
    undo, _ = await buttons(house, "Ann likes tea")
    day = house.text("memory/2026-03-01.md")
    house.put("memory/2026-03-01.md", f"{day}{day.splitlines()[-1]}\n")
    await press(house, undo)
    assert house.text("memory/2026-03-01.md").count("Ann likes tea") == 1
    assert await press(house, undo) == "That was already undone."
    assert house.text("memory/2026-03-01.md").count("Ann likes tea") == 1


async def test_what_somebody_changed_since_is_left_alone(house: House) -> None:
    """A sentence says why."""
    undo, correct = await buttons(house, "/remember Ann likes tea")
    changed = house.text("MEMORY.md").replace("tea", "green tea")
    house.put("MEMORY.md", changed)
    for command in (undo.command, f"{correct.command} Ann likes milk"):
        assert await house.says(command) == "MEMORY.md: it has changed there since, so nothing was written"
    assert house.text("MEMORY.md") == changed


async def test_bare_words_are_about_the_last_answer_that_wrote(house: House) -> None:
    """Over a restart too; an older one is named by its mark only."""
    assert "I find nothing" in await house.says("/undo")
    await buttons(house, "/remember one")
    await buttons(house, "/remember two")
    await house.says("/whoami")
    house.restart()
    assert "> - two" in await house.says("/undo")
    assert await house.says("/undo") == "That was already undone."
    assert "- one\n" in house.text("MEMORY.md")
    assert "Use `/undo`" in await house.says("/undo the last one, please")


async def test_after_a_new_conversation_it_says_what_it_would_take_back(house: House) -> None:
    """Nothing goes until its mark is said, and then just that."""
    undo, _ = await buttons(house, "/remember one")
    await house.says("/new")
    await house.says("/whoami")
    before = house.files()
    told = await house.says("/undo")
    assert told.startswith(f"No answer of mine in this conversation wrote a note. `{undo.command}` is about")
    assert told.endswith("> - one")
    assert f"`{undo.command.replace('undo', 'correct')} <words>`" in await house.says("/correct three")
    assert house.files() == before
    assert "> - one" in await house.says(undo.command)
    assert "- one\n" not in house.text("MEMORY.md")


AT_WORK = replace(OWNER, address=Address("telegram", "work", "7"))
OF_BOTH = Policy(
    frozenset({"telegram:7"}), {("telegram", name): AccountPolicy(DirectPolicy.OWNER) for name in ("home", "work")}
)


async def test_in_two_chats_of_one_session_each_takes_back_its_own(house: House) -> None:
    """The owner's chats are one conversation; what was said and approved in the other is named and not touched."""
    house.policy = OF_BOTH
    assert house.key(AT_WORK) == house.key()
    await buttons(house, "/remember from the phone")
    told = await house.says("/undo", AT_WORK)
    assert told.startswith("No answer of mine in this conversation wrote a note.")
    assert "> - from the phone" in told
    await buttons(house, "/remember from the desk", AT_WORK)
    await buttons(house, "/remember from the phone again")
    assert "> - from the desk" in await house.says("/undo", AT_WORK)
    assert await house.says("/undo", AT_WORK) == "That was already undone."
    assert "> - from the phone again" in await house.says("/undo")
    assert "- from the phone\n" in house.text("MEMORY.md")


async def proposed(house: House, path: str, after: str, message: InboundMessage, turn: str) -> int:
    """Have the turn that answers *message* ask for a change of the whole file, as the write policy does."""
    origin = Origin("main/main", "1", turn, mark=mark_of(message), chat=chat_mark(message))
    now = house.files().get(path)
    return await house.approvals.approval_sink(MAIN, origin, OWNER.address).propose(
        PurePosixPath(path), now, after, ApprovalReason.UNTRUSTED
    )


async def test_an_approved_change_is_what_its_chat_takes_back(house: House) -> None:
    """It and no older note, whatever was written in another chat since; a change that is no note is only named."""
    house.policy = OF_BOTH
    await buttons(house, "/remember older")
    row = await house.take_in("what does the page say?", AT_WORK)
    house.model = ScriptedModel("It wants to be noted; I asked you.")
    await house.answer(row)
    number = await proposed(house, "MEMORY.md", house.text("MEMORY.md") + "- approved\n", row.message, row.turn_id)
    assert "written" in await house.says(f"/approve {number}")
    await buttons(house, "/remember newer")
    assert "> - approved" in await house.says("/undo", AT_WORK)
    assert [line for line in house.text("MEMORY.md").splitlines() if line.startswith("- ")] == ["- older", "- newer"]
    row = await house.take_in("and now?", AT_WORK)
    number = await proposed(house, "SOUL.md", "Be brief.\n", row.message, row.turn_id)
    assert "written" in await house.says(f"/approve {number}")
    told = await house.says("/undo", AT_WORK)
    assert "- older" in house.text("MEMORY.md")
    assert "- newer" in house.text("MEMORY.md")
    assert told.startswith("My last change here was in `SOUL.md`, and I can only undo notes. `/undo ")
    assert told.endswith("> - newer")


async def test_a_reply_to_the_question_corrects_the_note_and_can_be_taken_back(house: House) -> None:
    """The person writes what it should say, as a reply or behind the command; all else is a message like any other."""
    house.put("MEMORY.md", "# Memory\n\n## Notes\n")
    _, correct = await buttons(house, "/remember Ann likes tea")
    question = await press(house, correct)
    assert question.endswith("It says now:\n> - Ann likes tea")
    asked = Quote("Bot", question.replace("`", ""), is_ours=True)
    undo, again = await buttons(house, "Ann likes milk", replace(OWNER, quote=asked))
    assert "- Ann likes milk\n" in house.text("MEMORY.md")
    assert "tea" not in house.text("MEMORY.md")
    assert await house.says(f"{again.command} Ann likes water") == "Corrected in `MEMORY.md#L5`."
    assert "has changed there since" in await press(house, undo)
    assert "> - Ann likes milk" in await house.says("/undo")
    assert "- Ann likes milk\n" in house.text("MEMORY.md")
    house.model = ScriptedModel("fine")
    assert await house.says("so?", replace(OWNER, quote=replace(asked, is_ours=False))) == "fine"


async def test_what_a_model_wrote_in_a_turn_goes_together(house: House) -> None:
    """Its notes of the day and of the long-term memory, and what it replaced comes back; other files stay."""
    house.put("MEMORY.md", "# Memory\n\n- tea\n")
    house.model = ScriptedModel(
        says("", call("add_note", text="we talked")),
        says("", call("update_memory", old="tea", new="milk")),
        says("", call("write_file", path="plan.md", content="a plan\n")),
        "Done.",
    )
    (undo,) = await buttons(house, "do it")
    day = f"memory/{house.clock.now():%Y-%m-%d}.md"
    assert {"plan.md", day} <= house.files().keys()
    told = await press(house, undo)
    assert "> - milk" in told
    assert "> - tea" in told
    assert house.text("MEMORY.md") == "# Memory\n\n- tea\n"
    assert day not in house.files()
    assert house.text("plan.md") == "a plan\n"


async def test_a_button_in_a_group_reaches_that_groups_notes_and_nothing_else(house: House) -> None:
    """The mark of a private turn is none there; a member's press of the owner's button does and says nothing."""
    private, _ = await buttons(house, "/remember the vault is behind the heron")
    undo, _ = await buttons(house, "/remember we meet at ten", OWNER_IN_GROUP)
    assert await buttons(house, "/remember I am Sam", MEMBER) == ()
    before = house.files()
    for command in (private.command, private.command.replace("undo", "correct")):
        told = await house.says(command, OWNER_IN_GROUP)
        assert told.startswith("I find nothing in the notes of this chat")
    assert "I find nothing" in await house.says(undo.command)
    assert await press(house, undo, MEMBER) == ""
    assert await press(house, private, MEMBER) == ""
    assert "There is no command /undo here" in await house.says(undo.command, MEMBER)
    assert house.files() == before
    assert "> - " in await press(house, undo, OWNER_IN_GROUP)
    (note,) = [text for path, text in house.files().items() if path.startswith(SHARED)]
    assert "we meet at ten" not in note
    assert "I am Sam" in note


async def test_a_guest_takes_back_what_was_noted_in_their_own_chat(house: House) -> None:
    """And nobody else's."""
    house.policy = WITH_GUEST
    private, _ = await buttons(house, "/remember the vault is behind the heron")
    undo, _ = await buttons(house, "/remember I like tea", GUEST)
    assert "I find nothing" in await press(house, private, GUEST)
    assert "I like tea" in await press(house, undo, GUEST)
    assert not [path for path in house.files() if "shared" in path]


async def test_what_corrects_a_marked_note_keeps_its_mark(house: House) -> None:
    """Whoever corrects a word of it does not mean to send it elsewhere."""
    await buttons(house, "/remember the pin is 4711 #house")
    assert await house.says("/correct the pin is 4712") == "Corrected in `MEMORY.md#L15`."
    assert house.text("MEMORY.md").endswith("- the pin is 4712 #house\n")


async def test_correcting_says_what_it_cannot(house: House) -> None:
    """A note that was undone, several at once, no words."""
    undo, correct = await buttons(house, "/remember tea")
    assert await house.says(f"{correct.command} \n ") == await press(house, correct)
    await press(house, undo)
    assert "was undone" in await house.says(f"{correct.command} milk")
    house.model = ScriptedModel(
        says("", call("add_note", text="tea")), says("", call("add_note", text="milk")), "Done."
    )
    (undo,) = await buttons(house, "two notes")
    assert "wrote 2 passages" in await house.says("/correct c")


async def test_a_word_that_was_taken_back_takes_along_nothing_that_was_said_besides(house: House) -> None:
    """What holds it by the way comes into the day's notes when the conversation ends; what says it alone does not."""
    house.model = ScriptedModel("Fine.", "Noted.", *["NO_REPLY"] * 9)
    await house.says("We meet at the boat yard at ten, and Bob brings the book.")
    await house.says("Boo-boo!")
    await house.says("/remember boo")
    assert "> - boo" in await house.says("/undo")
    await house.says("/new")
    notes = "".join(path.read_text() for path in (house.folder / "workspace" / "memory").glob("*.md"))
    assert "boat yard" in notes
    assert "Boo-boo" not in notes


async def test_of_very_many_passages_only_the_first_are_told(house: House) -> None:
    """The answer stays one message, whatever the turn wrote."""
    content = "".join(f"- fact {number}\n" for number in range(3_000))
    written = says("", call("write_file", path="memory/2026-02-01.md", content=content))
    house.model = ScriptedModel(says("", call("add_note", text="facts")), written, "Done.")
    undo, _ = await buttons(house, "all of them")
    told = await press(house, undo)
    assert told.endswith("passages more.")
    assert len(told) < 2_000
    assert "memory/2026-02-01.md" not in house.files()


WROTE = ResultEntry("1", "save_memory", "Saved in MEMORY.md#L3.", is_error=False)
WAITS = replace(WROTE, text="Nothing is written yet: this change to MEMORY.md waits for your owner's approval as #1.")
OWNS = Asker(route(OWNER, ROUTES).access, is_owner=True)


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        ([], []),
        ([ReplyEntry("hi", (), "m", Usage())], []),
        ([WROTE], ["Undo", "Correct"]),
        ([replace(WROTE, name="add_note", text="Noted in memory/2026-11-22.md#L3.")], ["Undo", "Correct"]),
        ([replace(WROTE, name="/remember", text="Noted in `MEMORY.md#L3`.")], ["Undo", "Correct"]),
        ([replace(WROTE, name="update_memory", text="Deleted in MEMORY.md#L3.")], ["Undo"]),
        ([WROTE, WROTE], ["Undo"]),
        ([WAITS], []),
        ([replace(WROTE, is_error=True)], []),
        ([replace(WROTE, name="memory_search")], []),
        ([replace(WROTE, name="/forget", text="Forgotten: 1 note.")], []),
    ],
)
def test_only_an_answer_that_wrote_notes_has_buttons(entries: list[ResultEntry], labels: list[str]) -> None:
    """One row: to take all of it back, and to correct the only passage."""
    assert [each.label for each in buttons_for(OWNER, OWNS, entries)] == labels


def test_nothing_is_offered_where_nobody_talks_or_who_talks_may_not() -> None:
    """A heartbeat, another agent, a member of a group."""
    assert buttons_for(replace(OWNER, address=heartbeat_address(MAIN)), OWNS, [WROTE]) == ()
    assert buttons_for(replace(OWNER, via=Via.AGENT), OWNS, [WROTE]) == ()
    access = route(MEMBER, ROUTES).access
    assert buttons_for(MEMBER, Asker(access, is_owner=False), [WROTE]) == ()
    assert len(buttons_for(OWNER_IN_GROUP, Asker(access, is_owner=True), [WROTE])) == 2


def test_a_mark_tells_nothing_of_other_chats() -> None:
    """It is made of the chat and the message's own id; a button fits what Telegram takes."""
    assert mark_of(OWNER) == mark_of(replace(OWNER, text="other", sender=Sender("1", "x")))
    assert len({mark_of(OWNER), mark_of(MEMBER), mark_of(replace(OWNER, id="1"))}) == 3
    assert all(len(each.command.encode()) <= 64 for each in buttons_for(OWNER, OWNS, [WROTE]))
