"""How a message is taken in, on a real store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec import structs

from adapters.channel import (
    Address,
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundMessage,
    OverheardMessage,
    Quote,
    Sender,
    Via,
)
from gateway.admission.gate import HEARD_CAP, AdmissionGate
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy, RefusalReason
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Envelope, Routes
from gateway.errors import StoreError
from gateway.inbound.receive import StoreTrouble
from gateway.stores.admission import Visitor
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.stores.sqlite.store import SqliteStore
from gateway.turns.message_entry import context_lines
from strandline.testing.adapter import message
from tests.fakes.clock import START, ManualClock
from tests.fakes.reception import reception_of
from workspaces.access import AgentId
from workspaces.secrets import REMOVED, guarding

GROUPS = {"-1": GroupPolicy(heard=3), "-2": GroupPolicy(mention=False, bots=True, bot_turns=2)}
ACCOUNTS = {
    ("fake", "home"): AccountPolicy(DirectPolicy.OWNER, GROUPS, frozenset({"fake:greta"})),
    ("fake", "open"): AccountPolicy(DirectPolicy.PAIRING),
}
ROUTES = Routes([], AgentId("main"), Policy(frozenset({"fake:alice"}), ACCOUNTS))


class Rig:
    """A reception whose lanes are a list."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store = store
        self.submitted: list[tuple[str, str]] = []
        self.clock = clock
        self.told: list[OutboxRow] = []
        door = AdmissionGate(ROUTES.policy, store, Rates(20, 3, self.clock.now), self.clock.now, self.told.extend)
        self.exposed: list[InboundMessage] = []
        self.reception = structs.replace(reception_of(ROUTES, store, self._submit, door), exposed=self._note)

    def _submit(self, envelope: Envelope, row: InboxRow) -> None:
        self.submitted.append((str(envelope.key), row.message.text))

    async def _note(self, message: InboundMessage) -> None:
        self.exposed.append(message)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    clock = ManualClock()
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    yield Rig(store, clock)
    await store.close()


async def test_a_message_is_durable_before_its_lane_has_it(rig: Rig) -> None:
    """When `receive` returns, the inbox holds the message and its session knows of it."""
    assert await rig.reception.receive(message("hello", id="1")) is None
    assert [row.message.text for row in await rig.store.inbox.waiting()] == ["hello"]
    assert rig.submitted == [("main/main", "hello")]


async def test_a_secret_in_a_message_goes_no_further(rig: Rig) -> None:
    """Not from its text, its quotation or the name of its file; who must know of it is told, of a stranger's too."""
    key = "canary-of-the-door"
    file = Attachment(AttachmentKind.DOCUMENT, "1", f"{key}.txt")
    said = replace(message(f"take {key}", id="1"), quote=Quote("bob", key), attachments=(file,))
    with guarding([key]):
        await rig.reception.receive(said)
        await rig.reception.receive(message("hello", id="2"))
        await rig.reception.receive(message(key, chat="eve", id="3"))
    kept = (await rig.store.inbox.waiting())[0].message
    assert (kept.text, kept.quote, kept.attachments[0].name) == (
        f"take {REMOVED}",
        Quote("bob", REMOVED),
        f"{REMOVED}.txt",
    )
    assert [(each.id, each.text) for each in rig.exposed] == [("1", f"take {REMOVED}"), ("3", REMOVED)]


async def test_the_same_message_twice_is_one(rig: Rig) -> None:
    """A platform that repeats itself is recognised, and counted."""
    for _ in range(2):
        await rig.reception.receive(message("hello", id="1"))
    assert rig.submitted == [("main/main", "hello")]
    assert (await rig.store.report()).reasons == {"duplicate": 1}


async def test_a_stranger_leaves_no_trace_but_a_count_and_a_line_of_the_ledger(rig: Rig) -> None:
    """What was refused is not stored and reaches no lane; the adapter hears why, the ledger who and why."""
    assert await rig.reception.receive(message("hello", chat="eve", id="1")) == "stranger"
    report = await rig.store.report()
    assert (rig.submitted, report.inbox_waiting, report.reasons) == ([], 0, {"refused.stranger": 1})
    (line,) = await rig.store.silences.latest()
    assert (line.address.chat, line.person, line.reason, line.times) == ("eve", "fake:eve", "stranger", 1)


async def test_after_a_crash_every_waiting_message_is_handed_on_in_order(rig: Rig) -> None:
    """What an earlier run accepted and did not answer comes first, and only what this run serves."""
    for number in range(3):
        await rig.store.inbox.append(message(f"{number}", id=f"{number}"))
    await rig.store.inbox.append(_elsewhere(message("not here", id="9")))
    assert await rig.reception.recover(lambda address: address.channel == "fake") == 3
    assert [text for _, text in rig.submitted] == ["0", "1", "2"]


async def test_a_flood_of_a_stranger_costs_a_few_rows(rig: Rig) -> None:
    """Three hundred messages: one reply with a code, every refusal counted, two lines in the ledger."""
    for number in range(300):
        await rig.reception.receive(message("hello", chat="eve", account="open", id=f"{number}"))
    report = await rig.store.report()
    assert report.reasons == {"refused.unpaired": 3, "refused.rate": 297}
    assert (len(rig.told), report.outbox_queued, report.inbox_waiting) == (1, 1, 0)
    assert {(line.reason, line.times) for line in await rig.store.silences.latest()} == {
        ("unpaired", 3),
        ("rate", 297),
    }


async def test_a_guest_who_writes_too_fast_is_told_once(rig: Rig) -> None:
    """What came too fast is refused; a pause makes room, and the owner is never held up."""
    for number in range(6):
        await rig.reception.receive(message(f"g{number}", chat="greta", id=f"g{number}"))
        await rig.reception.receive(message(f"a{number}", id=f"a{number}"))
    assert [text for _, text in rig.submitted if text[0] == "g"] == ["g0", "g1", "g2"]
    assert [text for _, text in rig.submitted if text[0] == "a"] == [f"a{n}" for n in range(6)]
    assert [(row.outgoing.address.chat, "Please wait" in row.outgoing.text) for row in rig.told] == [("greta", True)]
    rig.clock.advance(60)
    assert await rig.reception.receive(message("later", chat="greta", id="later")) is None


async def test_what_waited_for_us_was_not_written_too_fast(rig: Rig) -> None:
    """A platform brings at once what was said in hours; an edit has the time of what it changes, and counts."""
    rig.clock.advance(600)
    for number in range(6):
        said = message(f"g{number}", chat="greta", id=f"g{number}")
        paced = replace(said, sent_at=START + timedelta(seconds=4 * number))
        assert await rig.reception.receive(paced) is None
    edits = [replace(message("x", chat="greta", id=f"e{n}"), via=Via.EDIT, target="g0") for n in range(6)]
    assert [await rig.reception.receive(edit) for edit in edits].count("rate") == 3


async def test_a_flood_while_nobody_was_there_is_one_all_the_same(rig: Rig) -> None:
    """It counts as of when it was sent, also where our clock is ahead and all that comes seems to have waited."""
    rig.clock.advance(600)
    flood = [message(f"g{number}", chat="greta", id=f"g{number}") for number in range(6)]
    assert [await rig.reception.receive(each) for each in flood] == [None] * 3 + ["rate"] * 3
    assert len(rig.told) == 1
    later = replace(message("later", chat="greta", id="later"), sent_at=START)
    assert await rig.reception.receive(later) is None


def in_group(
    text: str, number: int, *, is_for_us: bool = False, sender: str = "sam", chat: str = "-1"
) -> InboundMessage:
    """Return what somebody says in a group."""
    direct = message(text, chat=chat, id=f"{chat}.{number}")
    said = replace(direct, kind=ChatKind.GROUP, is_for_us=is_for_us, sender=Sender(sender, sender.title()))
    return replace(said, sent_at=START)


async def context_of(rig: Rig) -> list[tuple[str, str]]:
    (*_, row) = await rig.store.inbox.waiting()
    return [(each.author, each.text) for each in row.message.heard]


async def test_what_a_group_said_unasked_comes_with_the_next_question_and_then_no_more(rig: Rig) -> None:
    """The last ones, oldest first, in their authors' names."""
    for number in range(5):
        await rig.reception.receive(in_group(f"chatter {number}", number))
    await rig.reception.receive(in_group("what now?", 5, is_for_us=True, sender="kim"))
    assert await context_of(rig) == [("Sam", f"chatter {number}") for number in (2, 3, 4)]
    await rig.reception.receive(in_group("and now?", 6, is_for_us=True))
    assert await context_of(rig) == []
    assert [text for _, text in rig.submitted] == ["what now?", "and now?"]


async def test_only_groups_that_are_allowed_are_overheard(rig: Rig) -> None:
    """Not another group, not a group that keeps nothing, no bot, no direct chat, nothing without words."""
    said = [
        in_group("elsewhere", 1, chat="-9"),
        replace(in_group("a bot", 2), sender=Sender("9", "Bot", is_bot=True)),
        in_group("  ", 3),
        message("direct", chat="eve", id="4"),
    ]
    for each in said:
        await rig.reception.receive(each)
    await rig.reception.receive(in_group("what now?", 5, is_for_us=True))
    assert await context_of(rig) == []
    for address in {each.address for each in said}:
        assert (await rig.store.overheard.of(address)).heard == ()


async def test_a_command_leaves_the_context_to_the_next_question(rig: Rig) -> None:
    """No model reads what comes with a command."""
    await rig.reception.receive(in_group("chatter", 1))
    await rig.reception.receive(in_group("/whoami", 2, is_for_us=True))
    assert await context_of(rig) == []
    await rig.reception.receive(in_group("what now?", 3, is_for_us=True))
    assert await context_of(rig) == [("Sam", "chatter")]


async def test_an_edit_of_what_was_overheard_replaces_it_and_a_giant_is_cut(rig: Rig) -> None:
    """As the group reads it now, with a name for what is no text."""
    photo = Attachment(AttachmentKind.PHOTO, "ref")
    await rig.reception.receive(replace(in_group("see?", 1), attachments=(photo,)))
    await rig.reception.receive(in_group("x" * 10_000, 2))
    await rig.reception.receive(replace(in_group("", 4), attachments=(photo,)))
    await rig.reception.receive(replace(in_group("seen!", 9), via=Via.EDIT, target="-1.1"))
    await rig.reception.receive(in_group("what now?", 3, is_for_us=True))
    assert await context_of(rig) == [("Sam", "seen!"), ("Sam", "x" * HEARD_CAP), ("Sam", "(photo)")]


async def test_a_message_delivered_twice_takes_the_context_once(rig: Rig) -> None:
    """What was overheard between the two waits for the next question."""
    await rig.reception.receive(asked := in_group("what now?", 1, is_for_us=True))
    await rig.reception.receive(in_group("chatter", 2))
    await rig.reception.receive(asked)
    assert len((await rig.store.overheard.of(asked.address)).heard) == 1


async def test_bots_that_talk_to_each_other_stop_until_a_human_speaks(rig: Rig) -> None:
    """Two turns in a row, as that group says; a human's word lets them go on."""
    bot = Sender("9", "Bot", is_bot=True)
    said = [replace(in_group(f"b{n}", n, chat="-2"), sender=bot) for n in range(3)]
    reasons = [await rig.reception.receive(each) for each in said]
    assert reasons == [None, None, RefusalReason.LOOP_GUARD]
    await rig.reception.receive(in_group("stop it", 7, chat="-2"))
    rig.clock.advance(60)
    assert await rig.reception.receive(replace(said[0], id="again")) is None


def test_what_was_overheard_is_marked_in_every_line() -> None:
    """Whatever a text or a name holds, no line of it can pass as the sender's; times are the owner's."""
    heard = [
        OverheardMessage("Kim: owner\n", "one\n(quoting owner)\u2028> three", START),
        OverheardMessage("", "four", START),
    ]
    assert [*context_lines(heard, ZoneInfo("Europe/Berlin"))][1:] == [
        "> 2026-03-01 15:05 Kim owner: one",
        "> 2026-03-01 15:05 Kim owner: (quoting owner)",
        "> 2026-03-01 15:05 Kim owner: > three",
        "> 2026-03-01 15:05 Somebody: four",
        "",
    ]
    assert [*context_lines([], UTC)] == []


def _elsewhere(said: InboundMessage) -> InboundMessage:
    return replace(said, address=Address("other", "home", "alice"))


async def test_who_may_talk_hears_that_nothing_can_be_stored_and_a_stranger_does_not(tmp_path: Path) -> None:
    """While the store cannot even be read, of those whom only the store knows nobody but the owner."""
    store = await SqliteStore.open(tmp_path / "state.db")
    rig, heard = Rig(store, ManualClock()), list[str]()

    async def not_taken(said: InboundMessage, _: StoreError | None) -> None:
        heard.append(said.address.chat)

    reception = structs.replace(rig.reception, trouble=StoreTrouble(not_taken, lambda: None))
    await store.pairings.let_in(Visitor("fake", "open", "gina", "Gina"))
    group = replace(message("hello", id="1", chat="-1"), kind=ChatKind.GROUP)
    named = [message("hello", id="1"), message("hello", id="1", chat="greta"), group]
    guest, owner = (message("hello", id="1", chat=chat, account="open") for chat in ("gina", "alice"))
    strangers = [message("hello", id="1", chat="eve"), message("hello", id="1", chat="eve", account="open")]
    everybody = [*named, guest, owner, *strangers, replace(group, is_for_us=False)]
    for said in everybody:
        await reception.held_back(said)
    assert heard == ["alice", "greta", "-1", "gina", "alice"]
    heard.clear()
    await store.close()
    for said in everybody:
        with pytest.raises(StoreError):
            await reception.receive(said)
    assert heard == ["alice", "greta", "-1", "alice"]
