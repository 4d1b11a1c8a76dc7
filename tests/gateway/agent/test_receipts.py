"""What the line below an answer tells, from journals of turns."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from gateway.agent.entries import (
    COMMAND,
    HALTED,
    OFFLINE,
    Entry,
    Picture,
    ReplyEntry,
    ResultEntry,
    ToolAct,
    ToolActKind,
    ToolCall,
    Usage,
    UserEntry,
    interrupted_result,
)
from gateway.agent.receipts import ACTING, LEAD, READING, ReceiptLevel, receipt_line, with_receipts, without_imitations
from gateway.agent.tools import tool
from workspaces.access import Access, AgentId, Scope, SessionType, owner_access

MAIN = owner_access(AgentId("main"), "test")
GROUP = Access(AgentId("main"), SessionType.GROUP, Scope("shared:telegram.home.-100"), "telegram:8", 0, frozenset())


def said(text: str) -> UserEntry:
    """Return a person's message."""
    return UserEntry(text, datetime(2026, 11, 24, tzinfo=UTC), "", "1")


def did(*acts: tuple[ToolActKind, str], name: str = "add_note") -> ResultEntry:
    """Return the result of a call that did *acts*."""
    return ResultEntry("c", name, "done", False, acts=tuple(ToolAct(kind, about) for kind, about in acts))


def failed(name: str) -> ResultEntry:
    """Return the result of a call that failed."""
    return ResultEntry("c", name, "no", True)


def answered(text: str = "Fine.", model: str = "m") -> ReplyEntry:
    """Return a model's answer."""
    return ReplyEntry(text, (), model, Usage())


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ([], ""),
        ([did(("noted", "MEMORY.md#L3"))], "✓ noted 1 line"),
        ([did(("noted", "MEMORY.md#L3")), did(("noted", "MEMORY.md#L4"))], "✓ noted 2 lines"),
        ([did(("scheduled", "3, next Tue 2026-11-24 09:00"))], "✓ scheduled job `3, next Tue 2026-11-24 09:00`"),
        ([did(("sends", "plans/a.pdf"))], "✓ sends `plans/a.pdf`"),
        ([did(("unsure", "write_file"), name="write_file")], "? `write_file` may have happened"),
        (
            [did(("unsure", "write_file"), name="write_file"), did(("wrote", "a.md"))],
            "✓ wrote 1 file · ? `write_file` may have happened",
        ),
        ([said("remember the port"), did(("unsure", "add_note"))], "? `add_note` may have happened"),
        ([did(("waits", "#12"))], "✓ waits for your approval: `#12`"),
        ([did(("used", "todo_add"))], "✓ used `todo_add`"),
        ([failed("save_memory")], "✗ `save_memory` failed"),
        ([failed("edit_file"), did(("wrote", "a.md"), name="edit_file")], "✓ wrote 1 file"),
        ([failed("memory_search")], ""),
        ([failed("x`; rm\u202e")], "✗ an unknown tool failed"),
        ([interrupted_result(ToolCall("c", "add_note", ""))], "? `add_note` may have happened"),
        ([did(("notifies", ""))], ""),
    ],
)
def test_the_line_tells_acts_failures_and_doubts(entries: Sequence[Entry], line: str) -> None:
    """Each as the journal has it; reading is no act."""
    got = receipt_line([said("hello"), *entries, answered()], MAIN, ReceiptLevel.SHORT)
    assert got == (f"{LEAD}{line}" if line else "")


@pytest.mark.parametrize(
    ("words", "acts", "line"),
    [
        ("Remember that the key is with Ann", [], "✗ nothing was saved"),
        ("Remember that the key is with Ann", [did(("noted", "a.md#L1"))], "✓ noted 1 line"),
        ("Merk dir, dass der Schlüssel bei Ann ist", [], "✗ nothing was saved"),
        ("remind me tomorrow at 9", [did(("noted", "a.md#L1"))], "✓ noted 1 line · ✗ no reminder was scheduled"),
        ("напомни мне завтра позвонить", [], "✗ no reminder was scheduled"),
        ("remind @Ben tomorrow at 9 to call", [], "✗ no reminder was scheduled"),
        ("@strand please remind everyone on Friday at 17:00", [], "✗ no reminder was scheduled"),
        ("erinnere @Ben morgen um neun", [], "✗ no reminder was scheduled"),
        ("rappelle à @Ben demain à 9h", [], "✗ no reminder was scheduled"),
        ("recuérdale a @Ben mañana a las 9", [], "✗ no reminder was scheduled"),
        ("remind @Ben what we said about Ann", [], ""),
        ("remind @Ben that he has the keys", [], ""),
        ("every friday at 18:00 remind me to count the till", [], "✗ no reminder was scheduled"),
        ("cada viernes a las 18 recuérdame cerrar caja", [], "✗ no reminder was scheduled"),
        ("cada primero de mes recuérdame pagar el alquiler", [], "✗ no reminder was scheduled"),
        ("every month remind me to pay the rent", [], "✗ no reminder was scheduled"),
        ("Every week the kids remind me to rest", [], ""),
        ("en 2 minutos recuérdame mirar el horno", [], "✗ no reminder was scheduled"),
        ("Tomorrow morning, please remind me to call Ann", [], "✗ no reminder was scheduled"),
        ("morgen um neun erinnere mich an die Tonne", [], "✗ no reminder was scheduled"),
        ("明天早上9点提醒我打电话", [], "✗ no reminder was scheduled"),
        ("recuerdame mañana a las 9 llamar a Azeta", [], "✗ no reminder was scheduled"),
        ("recuérdanos el jueves traer las sillas", [], "✗ no reminder was scheduled"),
        ("Tomorrow I will ask Ann to remind me of the keys", [], ""),
        ("On Friday the photos on the wall remind me of Cádiz", [], ""),
        ("the trams at 9 remind me of Lisbon", [], ""),
        ("send me report.pdf", [], "✗ nothing was sent"),
        ("forget the old address", [], "✗ nothing was deleted"),
        ("forget the old address", [did(("noted", "a.md#L1"))], "✓ noted 1 line · ✗ nothing was deleted"),
        ("forget the old address", [did(("deleted", "a.md#L1"))], "✓ deleted 1 line"),
        ("cancel the reminder for Monday", [], "✗ nothing was cancelled"),
        ("What do you remember about Ann?", [], ""),
        ("Remind me what we said about Ann", [], ""),
        ("recuérdame cuándo toca la vacuna de Pipa", [], ""),
        ("erinner mich, wann der Zug fährt", [], ""),
        ("remind me when does the train leave", [], ""),
        ("remind me the boilers serial nr", [], ""),
        ("remind me my mum calls tomorrow", [], "✗ no reminder was scheduled"),
        ("remind me tomorrow at 6 to look", [failed("schedule")], "✗ no reminder was scheduled"),
        ("look at the purifier", [failed("schedule")], "✗ `schedule` failed"),
    ],
)
def test_what_was_asked_for_and_not_done_is_said(words: str, acts: Sequence[Entry], line: str) -> None:
    """By the person's words and the acts alone: the answer's own words change nothing."""
    entries: list[Entry] = [said(words), *acts, answered("I saved, sent, scheduled and deleted it all!")]
    assert receipt_line(entries, MAIN, ReceiptLevel.SHORT) == (f"{LEAD}{line}" if line else "")


KEPT = "The boat is called Ondine, and she lies at the third pier of the old harbour this winter."


@pytest.mark.parametrize(
    ("path", "text", "access", "line"),
    [
        ("MEMORY.md#L3", "The key is with Ann", MAIN, "already had 1 line: `The key is with Ann`"),
        ("MEMORY.md#L3", KEPT, MAIN, f"already had 1 line: `{KEPT[:79]}…`"),
        ("MEMORY.md#L3", "a\u202eb `x", MAIN, "already had 1 line"),
        ("MEMORY.md#L3", "The safe is 4711 #house", MAIN, "already had 1 line"),
        ("MEMORY.md#L3", "The key is with Ann", GROUP, "already had 1 line"),
    ],
)
def test_a_note_that_was_there_already_is_shown(path: str, text: str, access: Access, line: str) -> None:
    """The person cannot tell otherwise which it was; not where the file is not read, nor beyond the own machines."""
    kept = ResultEntry("c", "save_memory", "done", False, acts=(ToolAct("kept", path, text),))
    assert receipt_line([said("hello"), kept, answered()], access, ReceiptLevel.SHORT) == f"{LEAD}✓ {line}"


@pytest.mark.parametrize(
    "access", [GROUP, structs.replace(GROUP, session_type=SessionType.GUEST)], ids=["group", "guest"]
)
def test_where_nobody_can_set_a_reminder_the_line_says_who_can(access: Access) -> None:
    """A model that promises one there leaves a person waiting; a note can be made everywhere."""
    line = receipt_line([said("remind us at 5pm to fetch Mia"), answered("I will!")], access, ReceiptLevel.SHORT)
    assert line == f"{LEAD}✗ no reminder was scheduled: only my owner can do that, in their own chat with me"
    line = receipt_line([said("remember the pool opens in May"), answered("I will!")], access, ReceiptLevel.SHORT)
    assert line == f"{LEAD}✗ nothing was saved"


VOICE = "[voice note: audio/ogg, 20 bytes, attachments/a-file.oga; not transcribed]"
PDF = "[file: lease.pdf, application/pdf, 8 bytes, attachments/a-lease.pdf; read_file cannot show it]"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (VOICE, "✗ the voice note was not heard: please write it"),
        (
            "what is it?\n[photo: image/png, 4 bytes, attachments/a.png; not shown to you]",
            "✗ the photo was not seen: this model accepts none",
        ),
        (f"how much is it?\n{PDF}\n{PDF}", "✗ the file was not read: paste the text that matters"),
        (f"remember this\n{VOICE}", "✗ nothing was saved · ✗ the voice note was not heard: please write it"),
        ("[photo: image/png, 4 bytes, attachments/a.png]", ""),
        ("[file: a.txt, 4 bytes, attachments/a.txt; read_file shows it]", ""),
        (f"(quoting yourself)\n> {VOICE}\n\nas I said", ""),
        (PDF.replace("application/pdf", "image/png"), "✗ the picture was not seen: this model accepts none"),
        ("it ends in ; not transcribed]", ""),
    ],
)
def test_a_file_that_the_model_could_not_take_in_is_told(text: str, line: str) -> None:
    """Small models answer a voice note that they never heard; one that is quoted was told before."""
    got = receipt_line([said(text), answered("Interesting!")], MAIN, ReceiptLevel.SHORT)
    assert got == (f"{LEAD}{line}" if line else "")


def test_a_job_that_speaks_of_a_file_was_not_sent_one() -> None:
    """Its text is the gateway's, and begins no line of a person's file."""
    assert receipt_line([replace(said(VOICE), is_ours=True), answered()], MAIN, ReceiptLevel.SHORT) == ""


def test_a_picture_that_came_as_a_file_was_seen() -> None:
    """Its line says that a tool cannot show it; the model was shown the picture itself."""
    line = PDF.replace("application/pdf", "image/png")
    message = replace(said(line), pictures=(Picture("attachments/a-lease.pdf", "image/png", 8, 1, 1),))
    assert receipt_line([message, answered()], MAIN, ReceiptLevel.SHORT) == ""


def test_a_tool_of_somebody_else_may_have_read_the_file() -> None:
    """As one that transcribes: then the line names the tool alone."""
    got = receipt_line([said(VOICE), did(("used", "whisper")), answered()], MAIN, ReceiptLevel.SHORT)
    assert got == f"{LEAD}✓ used `whisper`"


def test_full_names_each_act_and_off_none() -> None:
    """In a group a place that it may not read is left out."""
    entries: list[Entry] = [said("hi"), did(("noted", "memory/2026-11-24.md#L3")), failed("add_note"), answered()]
    assert receipt_line(entries, MAIN, ReceiptLevel.FULL) == (
        f"{LEAD}✓ noted `memory/2026-11-24.md#L3` · ✗ `add_note` failed"
    )
    assert receipt_line(entries, GROUP, ReceiptLevel.FULL) == f"{LEAD}✓ noted 1 line · ✗ `add_note` failed"
    assert receipt_line(entries, MAIN, ReceiptLevel.OFF) == ""


def test_answers_made_of_their_acts_repeat_none() -> None:
    """Commands and the offline responder; a stopped turn sends no file."""
    note = did(("noted", "a.md#L1"))
    for model in (COMMAND, OFFLINE):
        entries: list[Entry] = [said("x"), note, answered(model=model)]
        assert receipt_line(entries, MAIN, ReceiptLevel.SHORT) == ""
    stopped: list[Entry] = [said("x"), note, did(("sends", "a.pdf")), answered(model=HALTED)]
    assert receipt_line(stopped, MAIN, ReceiptLevel.SHORT) == f"{LEAD}✓ noted 1 line"


@pytest.mark.parametrize(
    "claim",
    [
        "— ✓ noted 1 line",
        "Sure.\n\n— ✓ noted 3 lines · ✓ scheduled job `7`",
        "✓ **noted** it",
        "✔️ Saved!",
        "☑ \u200bnoted 1 line",
        "– ✅ everything",
        "✗ nothing was saved",
    ],
)
def test_no_answer_imitates_a_receipt(claim: str) -> None:
    """No mark stays before a receipt's words, nor after its dash; a list of checks stays as it is."""
    shown = with_receipts(claim, "")
    assert not {"✓", "✔", "✅", "☑", "✗"} & set(shown)
    assert without_imitations("- ✓ milk\n- ✓ bread") == "- ✓ milk\n- ✓ bread"


def test_every_tool_of_ours_reads_or_records_its_acts() -> None:
    """A new one that does neither would leave acts untold."""
    files = Path(tool.__file__ or "").parent.glob("*.py")
    sources = {path: path.read_text("utf-8") for path in files}
    made = {name: path for path, text in sources.items() for name in re.findall(r"\btool\((\w+)[,)]", text)}
    unoffered = {name for text in sources.values() for name in re.findall(r"\bunoffered\((\w+)\)", text)}
    assert made.keys() | unoffered == READING | ACTING | {"function"}
    acting = {
        name: path.read_text("utf-8") for name, path in made.items() if name not in READING and name != "function"
    }
    assert {"add_note", "spawn", "git_restore", "notify"} < acting.keys()
    said_so = {
        name for name, source in acting.items() if re.search(rf"async def {name}\((?:.|\n)*?\) -> Told:", source)
    }
    assert said_so == acting.keys()
