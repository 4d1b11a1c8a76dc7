"""A note that is forgotten is gone from its file and from search, and what stays is said."""

import re
from dataclasses import replace

import pytest

from adapters.channel import Sender
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, SHARED, House
from workspaces.forget import marked_in
from workspaces.memory.query import Query

DAY = "memory/2026-02-28.md"
NOTES = "# 2026-02-28\n\n- 10:00 the vault opens with heron\n- 11:00 tea at four\n- 12:00 tea with Ann\n"


@pytest.fixture(autouse=True)
async def noted(house: House) -> None:
    house.put(DAY, NOTES)
    house.put(f"{SHARED}/2026-02-28.md", "- 10:00 our password is heron\n")
    await house.memory.sync()


async def found(house: House, words: str) -> list[str]:
    """Return the passages of the owner's notes that a search by meaning and words gives."""
    house.memory._checked_at = float("inf")  # no sync on the way: what counts is what the command left
    house.memory._is_dirty = False
    result = await house.memory.search(Query(words, 50), house.access())
    return [hit.snippet for hit in result.hits]


async def test_the_only_note_that_fits_is_gone_at_once(house: House) -> None:
    """From the file, where nothing else moves, and from the index, before anybody asks again."""
    assert any("vault" in text for text in await found(house, "vault heron"))
    told = await house.says("/forget VAULT heron")
    assert told.startswith("Forgotten: 1 note.\n> 10:00 the vault opens with heron")
    assert house.text(DAY) == "# 2026-02-28\n\n- 11:00 tea at four\n- 12:00 tea with Ann\n"
    assert not any("vault" in text for text in await found(house, "vault heron"))


async def test_the_owner_is_told_what_stays_and_how_it_goes(house: House) -> None:
    """One line for /purge names all that was forgotten by its marks, also what was never recorded before."""
    told = await house.says(f"/forget {DAY}#L3-L5")
    assert "It remains in conversations, in backups, and in older versions" in told
    (offered,) = re.findall(r"`/purge ([^`]+)`", told)
    view = (await house.history_writer.history()).view(house.access())
    found = marked_in(view.note_texts(), offered.split())
    assert [note.text for note in found.values()] == [line[2:] for line in NOTES.splitlines()[2:]]


async def test_where_the_same_words_still_stand_is_said(house: House) -> None:
    """In another note, that of a group too for the owner; a search would find them there."""
    house.put("memory/2026-02-27.md", "- 08:00 Ann said: tea at four, so be there\n")
    house.put(f"{SHARED}/2026-02-27.md", "- 08:00 tea at four\n")
    told = await house.says(f"/forget {DAY}#L4")
    places = f"`{SHARED}/2026-02-27.md#L1-L1`, `memory/2026-02-27.md#L1-L1`"
    assert f"are still at {places}: searches find them there." in told
    assert "are still at" not in await house.says("/forget vault")
    assert "are still at" not in await house.says("/forget tea four", OWNER_IN_GROUP)


async def test_several_that_fit_are_listed_and_one_is_chosen(house: House) -> None:
    """Nothing is taken out before; the mark that is offered works although lines moved meanwhile."""
    told = await house.says("/forget tea")
    assert told.startswith("2 notes fit:")
    assert house.text(DAY) == NOTES
    _, ann = re.findall(r"`/forget (#[0-9a-f]{8})` ", told)
    house.put(DAY, NOTES.replace("- 10:00", "- 09:00 earlier\n- 10:00"))
    await house.says(f"/forget {ann}")
    assert house.text(DAY) == NOTES.replace("- 10:00", "- 09:00 earlier\n- 10:00").replace("- 12:00 tea with Ann\n", "")
    assert "no longer exists, or is not in this chat" in await house.says(f"/forget {ann}")


async def test_the_copies_of_one_message_are_one_note(house: House) -> None:
    """They stand in the notes of its day and of its conversation, an order to note in the latter beside its note."""
    said = "the code of the store is 7719#"
    house.put("memory/2026-02-27.md", f"- 09:00 {said}\n- 10:00 Conversation\n  - Owner (10:10): Arvid hates breaks\n")
    house.put(
        "memory/2026-02-27-1100.md",
        f"- 09:00 Owner ordered: remember {said}\n- 10:10 Owner: Arvid hates breaks\n- 10:20 Owner: forget the code\n",
    )
    told = await house.says("/forget the code of the store")
    assert told.startswith("Forgotten: 1 note, in 2 places.\n> 09:00 the code of the store")
    assert told.count("7719#") == 1
    assert "7719#" not in house.text("memory/2026-02-27.md") + house.text("memory/2026-02-27-1100.md")
    near = await house.says("/forget arvid and the breaks")
    assert "No note that I can change here" in near
    both = re.search(r"`(/forget #\w+ #\w+)`\n> Owner \(10:10\): Arvid hates breaks", near)
    assert both is not None
    assert "1 note, in 2 places" in await house.says(both[1])


async def test_a_question_for_a_note_goes_with_it_and_is_never_offered(house: House) -> None:
    """It says nothing: alone, it is no note that anybody means."""
    asked = "- 10:31 Owner asked: what's the code of the store\n"
    house.put("memory/2026-02-27.md", f"- 09:00 the code of the store is 7719#\n{asked}")
    assert (await house.says("/forget code of the store")).startswith("Forgotten: 2 notes.\n> 09:00 the code")
    assert house.text("memory/2026-02-27.md") == ""
    house.put("memory/2026-02-27.md", asked)
    told = await house.says("/forget code of the store")
    assert "No note that I can change here" in told
    assert "what's the code" not in told


async def test_all_that_were_listed_can_go_at_once(house: House) -> None:
    """By the line that the list ends with."""
    told = await house.says("/forget tea")
    everything = re.search(r"All of them: `(/forget [^`]+)`", told)
    assert everything is not None
    assert "2 notes" in await house.says(everything[1])
    assert house.text(DAY) == "# 2026-02-28\n\n- 10:00 the vault opens with heron\n"


async def test_a_note_can_be_named_by_its_citation(house: House) -> None:
    """As searches and answers give it; lines that hold no complete note are refused."""
    await house.says(f"/forget {DAY}#L4-L4")
    assert house.text(DAY) == NOTES.replace("- 11:00 tea at four\n", "")
    for wrong in (f"{DAY}#L1", f"{DAY}#L99", "memory/2020-01-01.md#L1", "AGENTS.md#L1-L3", "../x#L1", f"{SHARED}#L1"):
        assert "no complete note" in await house.says(f"/forget {wrong}")


async def test_words_that_nothing_holds_take_nothing_out(house: House) -> None:
    """The nearest are named, with the line that would forget them."""
    before = house.files()
    told = await house.says("/forget vault opens wide")
    assert "No note that I can change here" in told
    assert f"`/forget {DAY}#L3-L3`" in told
    assert "Name the note to forget" in await house.says("/forget")
    assert house.files() == before


async def test_a_group_forgets_its_own_notes_and_no_others(house: House) -> None:
    """Nor does it learn of revisions, of how to purge, or of what is private."""
    told = await house.says("/forget heron", OWNER_IN_GROUP)
    assert "our password is heron" in told
    assert "vault" not in told
    assert "/purge" not in told
    assert told.endswith("and in older versions of these notes, until my owner purges it.")
    assert house.text(f"{SHARED}/2026-02-28.md") == ""
    assert house.text(DAY) == NOTES
    assert "No note" in await house.says("/forget tea", MEMBER)
    assert "no complete note" in await house.says(f"/forget {DAY}#L4-L4", OWNER_IN_GROUP)
    assert house.text(DAY) == NOTES


async def test_a_member_forgets_what_was_written_down_for_them_and_nothing_else(house: House) -> None:
    """The owner forgets every note of the group; so no member does away with what another had noted."""
    other = replace(MEMBER, sender=Sender("9", "Kim"))
    await house.says("/remember the gate opens with crane", MEMBER)
    await house.says("/remember the shed opens with egret", other)
    await house.says("/remember the gate opens with crane", other)
    file = next(path for path in house.files() if path.startswith(SHARED) and "crane" in house.text(path))
    before = house.text(file)
    for order in ("/forget shed", "/forget password", f"/forget {file}#L1-L9"):
        assert "was written down for somebody else" in await house.says(order, MEMBER)
    assert house.text(file) == before
    nobody = replace(MEMBER, sender=Sender("", "Kim"))
    await house.says("/remember the barn opens with owl", nobody)
    for order in ("/forget password", "/forget barn"):  # of nobody known, and of somebody without an id, as they are
        assert "was written down for somebody else" in await house.says(order, nobody)
    offered = re.findall(r"`(/forget #[0-9a-f]{8})`", await house.says("/forget gate", other))
    told = [await house.says(order, other) for order in offered]
    assert ["was written down for somebody else" in each for each in told] == [True, False]
    assert house.text(file).count("crane") == 1
    assert "Forgotten: 1 note." in await house.says("/forget gate", MEMBER)
    assert "Forgotten: 1 note." in await house.says("/forget egret", OWNER_IN_GROUP)


async def test_the_owners_chat_leaves_a_groups_notes_to_the_group(house: House) -> None:
    """What others read is not changed from where they do not see it."""
    told = await house.says("/forget password")
    assert "No note that I can change here" in told
    assert "our password" not in told
    assert house.text(f"{SHARED}/2026-02-28.md") == "- 10:00 our password is heron\n"


async def test_what_was_forgotten_comes_into_no_note_again(house: House) -> None:
    """The conversation in which it was told is noted without it when it ends; what is said later is noted."""
    house.model = ScriptedModel("Noted.", "Fine.", "Noted again.", *["NO_REPLY"] * 9)
    await house.says("Remember that the vault opens with  HERON, will you?")
    await house.says("And tea is at five now.")
    await house.says("/forget vault")
    await house.says("The vault opens with stork now.")
    await house.says("/new")
    notes = "".join(path.read_text() for path in (house.folder / "workspace" / "memory").glob("*.md"))
    assert "heron" not in notes.casefold()
    assert "tea is at five" in notes
    assert "stork" in notes
