"""What was asked for and not done: the line that says so, the button that does it, and `/promises`."""

import re
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from msgspec import structs

from adapters.channel import InboundMessage, Quote
from gateway.admission.policy import AccountPolicy, DirectPolicy
from gateway.agent.models.offline import OfflineModel
from gateway.agent.receipts import LEAD, ReceiptLevel
from gateway.schedule.jobs import Wish
from gateway.stores.jobs import RunState
from gateway.stores.rows import Outgoing, TurnCommit
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import MAIN, MEMBER, OWNER, OWNER_IN_GROUP, POLICY, SHARED, open_house
from tests.gateway.commands.test_undo import GUEST, WITH_GUEST

CLAIM = "Saved! I will remember that."


async def test_the_button_saves_what_the_model_only_claimed_to_save(tmp_path: Path) -> None:
    """Word for word, once however often it is pressed, and undone like any note."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, ScriptedModel(CLAIM)
        assert await house.says("Remember that the spare key is with Ann.") == f"{CLAIM}\n\n{LEAD}✗ nothing was saved"
        pressed = (await house.buttons(CLAIM))["Save it"]
        assert len(pressed.encode()) <= 64
        house.restart()
        first = await house.says(pressed)
        assert first.startswith("Noted in `MEMORY.md#L")
        assert await house.says(pressed) == "That was already done."
        assert house.text("MEMORY.md").count("the spare key is with Ann") == 1
        await house.says((await house.buttons(first))["Undo"])
        assert "spare key" not in house.text("MEMORY.md")


async def test_the_button_schedules_forgets_and_lists(tmp_path: Path) -> None:
    """By the words of the message alone; without a time it says how to give one."""
    async with open_house(tmp_path) as house:
        house.receipts = ReceiptLevel.SHORT
        house.model = ScriptedModel("Of course.", "Sure.", "Gone.", "Cancelled.")
        assert (await house.says("Remind me tomorrow at 9:30 to call Ann")).endswith("✗ no reminder was scheduled")
        pressed = (await house.buttons("Of course."))["Schedule it"]
        assert (await house.says(pressed)).startswith("Scheduled as job 1; next Mon 2026-03-02 09:30")
        await house.says("Remind me to buy milk")
        assert "find no time" in await house.says((await house.buttons("Sure."))["Schedule it"])
        await house.says("/remember the boat is green")
        assert (await house.says("Forget the boat")).endswith("✗ nothing was deleted")
        await house.says((await house.buttons("Gone."))["Forget it"])
        assert "boat" not in house.text("MEMORY.md")
        await house.says("Cancel the reminder, please")
        assert "- job 1: at 2026-03-02 09:30" in await house.says((await house.buttons("Cancelled."))["Show jobs"])


async def test_a_request_that_was_repeated_and_then_done_is_not_broken(tmp_path: Path) -> None:
    """People who are told that it was not done say it again."""
    async with open_house(tmp_path) as house:
        house.receipts = ReceiptLevel.SHORT
        order = "Remind me tomorrow at 9:30 to call Ann"
        house.model = ScriptedModel(
            "Sure.", says("", call("schedule", when="tomorrow at 9:30", what="call Ann")), "Done."
        )
        await house.says(order)
        assert "no reminder was scheduled" in await house.says("/promises")
        await house.says(order)
        assert (await house.says("/promises")).endswith("**Broken**\nnone")


async def test_an_order_to_forget_that_a_model_only_noted_is_not_done(tmp_path: Path) -> None:
    """The button forgets the note that was meant, and the one of the order; alone, that one is no match."""
    async with open_house(tmp_path) as house:
        house.receipts = ReceiptLevel.SHORT
        house.put("memory/2026-02-01.md", "# 2026-02-01\n\n- 10:00 Ann's old address is 4 Elm Street\n")
        for answer, told in (("Done, forgotten.", "> 10:00 Ann's old"), ("It is gone.", "No note that I can change")):
            order = "Forget Ann's old address"
            house.model = ScriptedModel(says("", call("add_note", text=order)), answer)
            assert (await house.says(order)).endswith("✓ noted 1 line · ✗ nothing was deleted")
            assert order in house.text("memory/2026-03-01.md")
            assert told in await house.says((await house.buttons(answer))["Forget it"])
            assert "Elm" not in house.text("memory/2026-02-01.md")
            assert order not in house.text("memory/2026-03-01.md")


@pytest.mark.parametrize(
    ("job", "is_same"),
    [
        ("call Ann", True),
        ("Remind your owner to call Ann.", True),
        ("Remind your owner: please remind me on Monday at 09:30 to call Ann", True),
        ("call Ann and Bob", False),
        ("call Bob", False),
        ("call Ann 12", False),
    ],
)
async def test_a_reminder_that_is_there_already_is_not_doubled(tmp_path: Path, job: str, is_same: bool) -> None:
    """It is one for the same minute and the same thing, whoever wrote it; another thing is another job."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, ScriptedModel("Of course.")
        await house.says("Remind me tomorrow at 9:30 to call Ann")
        pressed = (await house.buttons("Of course."))["Schedule it"]
        for when in ("daily 09:30", "at 2026-03-02 09:31", "at 2026-03-02 09:30"):
            await house.job_runner.job_schedule.add(Wish(MAIN, when, job, "a test"))
        await house.job_runner.job_schedule.remove(1)
        said = await house.says(pressed)
        assert (
            said == f"{'Already' if is_same else 'Scheduled as'} job {3 if is_same else 4}; next Mon 2026-03-02 09:30."
        )
        assert len(await house.store.jobs.all()) == (2 if is_same else 3)
        assert "no reminder was scheduled" not in await house.says("/promises")


async def test_reminders_in_a_script_without_spaces_are_told_apart(tmp_path: Path) -> None:
    """What looks like one word there holds the time and the thing."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, ScriptedModel("Of course.")
        await house.says("提醒我明天9点给安打电话")
        await house.job_runner.job_schedule.add(
            Wish(MAIN, "at 2026-03-02 09:00", "提醒我明天9点给鲍勃打电话", "a test")
        )
        pressed = (await house.buttons("Of course."))["Schedule it"]
        assert await house.says(pressed) == "Scheduled as job 2; next Mon 2026-03-02 09:00."


async def test_in_a_group_the_owner_has_the_button_and_others_read_the_line(tmp_path: Path) -> None:
    """It writes the group's own notes; a mark of another conversation finds nothing."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, ScriptedModel(CLAIM, "Noted, Sam.", "Yes.")
        await house.says("Remember that the vault code is 4711")
        private = (await house.buttons(CLAIM))["Save it"]
        assert (await house.says("remember that we meet at ten", MEMBER)).endswith("✗ nothing was saved")
        assert await house.buttons("Noted, Sam.") == {}
        assert "not part of this conversation" in await house.says(private, OWNER_IN_GROUP)
        await house.says("remember that we meet at noon", OWNER_IN_GROUP)
        await house.says((await house.buttons("Yes."))["Save it"], OWNER_IN_GROUP)
        assert "we meet at noon" in house.text(f"{SHARED}/2026-03-01.md")
        assert "4711" not in "".join(house.files().values())


async def test_a_guest_is_offered_no_button_that_would_be_refused(tmp_path: Path) -> None:
    """Only the owner has jobs; the line says all the same that nothing was scheduled."""
    async with open_house(tmp_path) as house:
        house.policy = WITH_GUEST
        house.receipts, house.model = ReceiptLevel.SHORT, ScriptedModel("Of course, Gus.", "Noted, Gus.")
        undone = "✗ no reminder was scheduled: only my owner can do that, in their own chat with me"
        assert (await house.says("Remind me at nine to pack", GUEST)).endswith(undone)
        assert await house.buttons("Of course, Gus.") == {}
        await house.says("Remember that I like tea", GUEST)
        assert set(await house.buttons("Noted, Gus.")) == {"Save it"}


async def test_promises_are_open_kept_with_the_message_id_or_broken(tmp_path: Path) -> None:
    """By the store and the journal: a model's claim is none that was kept."""
    async with open_house(tmp_path) as house:
        house.receipts = ReceiptLevel.SHORT
        add = call("schedule", when="in 20m", what="call Ann")
        house.model = ScriptedModel(says("", add), "I will remind you.", CLAIM)
        planned = await house.says("remind me in 20 minutes to call Ann")
        assert planned.startswith("I will remind you.\n\n— ✓ scheduled job `1, next Sun 2026-03-01 14:25`")
        await house.says("Remember that Ann likes tea")
        told = await house.says("/promises")
        assert "**Open**\n- job 1: call Ann; next Sun 2026-03-01 14:25" in told
        assert "**Kept**\nnone" in told
        assert "**Silent**" not in told
        assert "nothing was saved (`/fulfil " in told
        assert "> Remember that Ann likes tea" in told

        await house.says((await house.buttons(CLAIM))["Save it"])
        house.clock.advance(21 * 60)
        await house.job_runner.look()
        (row,) = [each for each in await house.store.inbox.waiting() if each.message.address.channel == "clock"]
        await house.store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(OWNER.address, "Call Ann!")]))
        (reply,) = [each for each in await house.store.outbox.unfinished() if each.turn_id == row.turn_id]
        await house.store.outbox.begin_part(reply.id, 0, house.clock.now().astimezone(UTC))
        await house.store.outbox.part_sent(reply.id, 0, "4711", is_last=True)
        told = await house.says("/promises")
        assert "**Open**\nnone" in told
        assert "job 1: call Ann; message 4711" in told
        assert told.endswith("**Broken**\nnone")
        assert (await house.job_runner.history(1))[0].state is RunState.DELIVERED


async def test_a_job_that_said_nothing_kept_no_promise(tmp_path: Path) -> None:
    """Nobody got anything, so it stands apart."""
    async with open_house(tmp_path) as house:
        house.policy = structs.replace(
            POLICY, accounts={**POLICY.accounts, ("clock", "main"): AccountPolicy(DirectPolicy.INNER)}
        )
        await house.says("/cron add every 2h: look after the oven")
        await house.job_runner.run_now(1)
        (row,) = [each for each in await house.store.inbox.waiting() if each.message.address.channel == "clock"]
        house.model = ScriptedModel("NO_REPLY")
        await house.answer(row)
        told = await house.says("/promises")
        assert "**Kept**\nnone" in told
        assert "**Silent**\n- 2026-03-01 14:05, job 1: look after the oven; it ran, and nothing was sent" in told


QUESTION = '"at 9" can mean Sun 2026-03-01 21:00 or Mon 2026-03-02 09:00. Which one do you mean?'


async def test_of_two_moments_a_button_each_schedules_that_one(tmp_path: Path) -> None:
    """The offline responder asks once, in one sentence; the second press finds it done."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        asked = await house.says("remind me at 9 to call Ann")
        assert asked.startswith(f"{QUESTION}\n\nNo language model is configured")
        assert "was scheduled" not in asked
        evening, morning = (await house.buttons(QUESTION)).items()
        assert (evening[0], morning[0]) == ("Sun 2026-03-01 21:00", "Mon 2026-03-02 09:00")
        assert len(morning[1].encode()) <= 64
        assert (await house.says("/promises")).endswith("**Broken**\nnone")
        assert await house.says(morning[1]) == "Scheduled as job 1; next Mon 2026-03-02 09:00."
        assert await house.says(evening[1]) == "That was already done."
        assert await house.says("today") != "Scheduled as job 2; next Sun 2026-03-01 21:00."


async def test_two_days_are_one_question_with_a_button_each(tmp_path: Path) -> None:
    """As two moments of one day are, and the next message may choose as well."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        house.clock.advance(2 * 86400)
        asked = await house.says("remind me next Friday to call Ann")
        question = '"next friday" can mean Fri 2026-03-06 09:00 or Fri 2026-03-13 09:00. Which one do you mean?'
        assert asked.startswith(question)
        buttons = await house.buttons(question)
        assert [*buttons] == ["Fri 2026-03-06 09:00", "Fri 2026-03-13 09:00"]
        assert await house.says("next week") == "Scheduled as job 1; next Fri 2026-03-13 09:00."
        assert await house.says(buttons["Fri 2026-03-06 09:00"]) == "That was already done."


@pytest.mark.parametrize(
    ("added", "prompt"),
    [("at 9 call Ann", "Remind your owner: at 9 call Ann"), ("at 9: call Ann: she waits", "call Ann: she waits")],
)
async def test_cron_asks_for_one_of_two_moments_by_buttons_too(tmp_path: Path, added: str, prompt: str) -> None:
    """The job keeps what `/cron add` was given; the next message chooses as well."""
    async with open_house(tmp_path) as house:
        for choose_by_button in (True, False):
            asked = await house.says(f"/cron add {added}")
            assert asked.startswith('"at 9" can mean Sun 2026-03-01 21:00 or Mon 2026-03-02 09:00: say which')
            answer = (await house.buttons(asked))["Mon 2026-03-02 09:00"] if choose_by_button else "today"
            assert (await house.says(answer)).startswith("Scheduled as job")
        assert [job.spec.prompt for job in await house.store.jobs.all()] == [prompt] * 2
        assert not await house.buttons(await house.says(f"/cron add {added.replace('9', '25:00')}"))
        assert "Use `/cron`" in await house.says("/cron add at 9")


async def test_a_refusal_that_asks_for_no_moment_is_a_broken_promise(tmp_path: Path) -> None:
    """The line and `/promises` say so after the offline responder too."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        refused = await house.says("remind me on 30 February to call Ann")
        assert refused.endswith("✗ no reminder was scheduled")
        assert not await house.buttons(refused)  # "Schedule it" would be refused in the same words
        assert not (await house.says("/promises")).endswith("**Broken**\nnone")


async def test_the_next_message_chooses_one_of_two_moments(tmp_path: Path) -> None:
    """If it is nothing but a time; later ones, and those of others, are ordinary messages."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        await house.says("remind me at 9 to call Ann")
        assert await house.says("the evening") == "Scheduled as job 1; next Sun 2026-03-01 21:00."
        await house.says("remind me at 9 to call Bob")
        assert "Scheduled" not in await house.says("call him tomorrow")
        assert "Scheduled" not in await house.says("tomorrow")
        await house.says("remind me at 9 to call Cleo")
        assert "Scheduled" not in await house.says("tomorrow", OWNER_IN_GROUP)
        assert await house.says("tomorrow") == "Scheduled as job 2; next Mon 2026-03-02 09:00."
        assert [job.spec.prompt.rpartition(" ")[2] for job in await house.store.jobs.all()] == ["Ann", "Cleo"]


async def test_a_forward_chooses_no_moment(tmp_path: Path) -> None:
    """Others' words are no answer of the owner's, alone or with a word of theirs."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        for said in ("", "look", "> tomorrow"):
            await house.says("remind me at 9 to call Ann")
            await house.says(said, replace(OWNER, quote=Quote("Eve", "tomorrow")))
        assert [*await house.store.jobs.all()] == []


async def test_a_model_that_asks_by_itself_reads_the_answer(tmp_path: Path) -> None:
    """The buttons are below its question, and so is the line; pressing "Schedule it" asks as well."""
    async with open_house(tmp_path) as house:
        house.receipts = ReceiptLevel.SHORT
        tried = says("", call("schedule", when="at 9", what="call Ann"))
        house.model = ScriptedModel(tried, "Nine when?", "I see.", "Of course.")
        assert (await house.says("remind me at 9 to call Ann")).endswith("✗ no reminder was scheduled")
        assert [*await house.buttons("Nine when?")] == ["Sun 2026-03-01 21:00", "Mon 2026-03-02 09:00"]
        assert (await house.says("tomorrow")).startswith("I see.")
        await house.says("remind me at 9 to call Bob")
        refused = await house.says((await house.buttons("Of course."))["Schedule it"])
        assert [*await house.buttons(refused)] == ["Sun 2026-03-01 21:00", "Mon 2026-03-02 09:00"]
        assert await house.says("tomorrow") == "Scheduled as job 1; next Mon 2026-03-02 09:00."


@pytest.mark.parametrize("asker", [GUEST, OWNER_IN_GROUP])
@pytest.mark.parametrize("order", ["remind me tomorrow at 9 to pack", "cancel the reminder about packing"])
async def test_a_mark_that_is_typed_reaches_no_job_from_elsewhere(
    tmp_path: Path, asker: InboundMessage, order: str
) -> None:
    """Jobs are the owner's, in a chat that nobody else reads."""
    async with open_house(tmp_path) as house:
        house.policy, house.model = WITH_GUEST, ScriptedModel("Of course.")
        await house.says(order, asker)
        [file] = (house.folder / "sessions").rglob("*.jsonl")
        mark = re.findall(r'"source": ?"([0-9a-f]{16})\.', file.read_text())[-1]
        assert await house.says(f"/fulfil {mark}", asker) == (
            "Jobs can only be changed in your own chat with me, where nobody else reads."
        )
        assert [*await house.store.jobs.all()] == []


@pytest.mark.parametrize("asker", [MEMBER, GUEST, OWNER_IN_GROUP])
async def test_the_offline_responder_offers_only_what_is_possible_there(tmp_path: Path, asker: InboundMessage) -> None:
    """No reminders and jobs outside of the owner's own chat, and nobody there is sent to the gateway's terminal."""
    async with open_house(tmp_path) as house:
        house.policy, house.receipts, house.model = WITH_GUEST, ReceiptLevel.SHORT, OfflineModel()
        answers = [
            await house.says(said, asker)
            for said in ("hello", "remind me at 9 to call Ann", "yes", "cancel the reminder about Ann")
        ]
        assert answers[0].startswith("Hello!")
        assert answers[1] == (
            "I cannot set reminders in this chat.\n\n"
            f"{LEAD}✗ no reminder was scheduled: only my owner can do that, in their own chat with me"
        )
        assert answers[3].startswith("Reminders can only be listed and cancelled by my owner, in their own chat")
        offered = "\n".join([answers[0], *answers[2:]])
        assert not [each for each in ("remind me", "strandline", "/cron", "Noted") if each in offered]


async def test_the_offline_responder_tells_the_owner_how_to_connect_a_model(tmp_path: Path) -> None:
    """And that it can remind, in their own chat."""
    async with open_house(tmp_path) as house:
        house.model = OfflineModel()
        hello = await house.says("hello")
        assert "remind me tomorrow at 9" in hello
        assert "`strandline connect model`" in hello
        assert (await house.says("cancel the reminder about Ann")).startswith("No jobs are scheduled.")


@pytest.mark.parametrize(
    "listing", ["what reminders do I have?", "List my reminders", "show me all jobs.", "What's scheduled?"]
)
async def test_the_offline_responder_lists_jobs_and_cancels_one_by_its_number(tmp_path: Path, listing: str) -> None:
    """In the owner's own chat; a number that is no job's is said."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        await house.says("remind me tomorrow at 9:30 to call Ann")
        assert "- job 1: at 2026-03-02 09:30: remind me tomorrow at 9:30 to call Ann; next" in await house.says(listing)
        assert "there is no job 7" in await house.says("cancel job 7")
        assert (await house.says("please cancel reminder 1")).startswith("Job 1 has been removed.")
        assert (await house.says(listing)).startswith("No jobs are scheduled.")
        assert not (await house.says(listing, OWNER_IN_GROUP)).startswith("No jobs")


async def test_what_is_known_of_the_owner_is_quoted_in_their_own_chat(tmp_path: Path) -> None:
    """The lasting notes; a guest learns neither what they hold nor that there are any."""
    async with open_house(tmp_path) as house:
        house.policy, house.model = WITH_GUEST, OfflineModel()
        assert (await house.says("what do you know about me?")).startswith("`MEMORY.md` has no entries yet.")
        await house.says("/remember profile: Rob is second engineer")
        assert "says:\n> - Rob is second engineer" in await house.says("¿qué sabes de mí?")
        for asker in (GUEST, OWNER_IN_GROUP):
            answer = await house.says("what do you know about me?", asker)
            assert answer.startswith("Ask for something in the notes of this chat")
            assert "Rob" not in answer


async def test_the_offline_responder_cancels_the_job_that_an_order_names(tmp_path: Path) -> None:
    """By its words, in any language, and only if they fit one alone; a job that is done is neither meant nor listed."""
    async with open_house(tmp_path) as house:
        house.receipts, house.model = ReceiptLevel.SHORT, OfflineModel()
        for order in (
            "remind me every monday at 8 to log the sludge tank",
            "recuérdame a diario a las 9 ver el aceite",
        ):
            assert "Scheduled" in await house.says(order)
        assert "job 2" in (unclear := await house.says("cancel the reminder"))
        assert "Which one? Say, for example, “cancel job 1”." in unclear
        assert "Which one?" in await house.says("cancela el recordatorio del dentista")
        gone = await house.says("cancel the monday reminder about the sludge tank, please")
        assert gone == ("Job 1 has been removed.\n\n> Mon 08:00: remind me every monday at 8 to log the sludge tank")
        assert (await house.says("cancela el recordatorio del aceite")).startswith("Job 2 has been removed.")
        assert (await house.says("¿Qué recordatorios tengo?")).startswith("No jobs are scheduled.")
