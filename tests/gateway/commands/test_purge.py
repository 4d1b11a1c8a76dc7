"""What the owner purges is in no version, no conversation and no answer any more."""

import re

from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, House
from tests.workspaces.history.home import every_object
from workspaces.history import LogQuery
from workspaces.memory.text.fingerprint import fingerprint

DAY = "memory/2026-02-28.md"
PASSAGE = "the vault opens with heron"


def holders(house: House) -> set[str]:
    """Return which parts of the home hold the passage: files, conversations, and git's objects."""
    parts = {"workspace": house.folder / "workspace", "sessions": house.folder / "sessions"}
    found = {
        name
        for name, root in parts.items()
        if any(PASSAGE in file.read_text("utf-8") for file in root.rglob("*") if file.is_file())
    }
    return found | ({"history"} if PASSAGE in every_object(house.folder / "history.git") else set())


async def forgotten(house: House) -> str:
    """Tell the passage, forget it, and return the line that would purge it."""
    house.model = ScriptedModel("I shall remember that.")
    await house.says(f"remember that {PASSAGE}")
    await house.says(f"/remember {PASSAGE}")
    await house.says("/remember tea at four")
    told = await house.says("/forget vault heron")
    offered = re.search(r"`(/purge [^`]+)`", told)
    assert offered is not None, told
    return offered[1]


async def test_what_is_forgotten_can_be_purged(house: House) -> None:
    """By the line that /forget offers: from each object of the history and each line of the conversations."""
    line = await forgotten(house)
    assert holders(house) == {"sessions", "history"}
    told = await house.says(line)
    counts = "2 older texts of files, 0 files of notes, 8 lines of conversations and 1 stored message"
    assert told.startswith(f"Purged: {counts} no longer hold what was forgotten.")
    assert "backups" in told
    assert PASSAGE not in told
    assert holders(house) == set()
    await house.history_writer.finish()
    house.restart()
    assert holders(house) == set()
    assert "tea at four" in house.text("MEMORY.md")
    assert "tea at four" in every_object(house.folder / "history.git")
    house.model = ScriptedModel("Here I am.")
    assert await house.says("still there?") == "Here I am."
    assert isinstance(house.model, ScriptedModel)
    assert PASSAGE not in str(house.model.requests)


async def test_a_purge_removes_the_fingerprints_of_what_is_gone(house: House) -> None:
    """Records of searches keep those of notes that stand, so that their uses still count."""
    house.model = ScriptedModel("Noted.")
    await house.says(f"remember that {PASSAGE}")
    for note in (PASSAGE, "tea at four"):
        await house.says(f"/remember {note}")
    house.model = ScriptedModel(says("", call("memory_search", query="vault heron tea")), "I know.")
    await house.says("what do you know?")
    told = [file.read_text("utf-8") for file in (house.folder / "sessions").glob("*.jsonl")]
    assert {note for note in (PASSAGE, "tea at four") if fingerprint(note) in str(told)} == {PASSAGE, "tea at four"}
    offered = re.search(r"`(/purge [^`]+)`", await house.says("/forget vault heron"))
    assert offered is not None
    await house.says(offered[1])
    told = [file.read_text("utf-8") for file in (house.folder / "sessions").glob("*.jsonl")]
    assert fingerprint(PASSAGE) not in str(told)
    assert fingerprint("tea at four") in str(told)


async def test_a_purge_names_its_passage_or_does_nothing(house: House) -> None:
    """A revision that is not there, a passage that is too short, words: each is answered with what is wrong."""
    line = await forgotten(house)
    before = holders(house)
    assert "Name the passage" in await house.says("/purge")
    assert "Name the passage" in await house.says("/purge the vault")
    assert "no such revision" in await house.says("/purge MEMORY.md#L3@0123456789")
    assert "has the mark #00000000" in await house.says(f"{line} #00000000")
    history = await house.history_writer.history()
    told = history.view(house.access()).log(LogQuery(limit=3))
    revision = told[1].id[:10]
    assert PASSAGE in history.view(house.access()).text_at(revision, "MEMORY.md")
    assert "cannot be purged" in await house.says(f"/purge MEMORY.md#L2@{revision}")
    assert "cannot be purged" in await house.says(f"/purge MEMORY.md#L9999@{revision}")
    assert "nowhere.md" in await house.says(f"/purge nowhere.md#L1@{revision}")
    assert holders(house) == before


async def test_one_command_takes_several_and_those_named_apart_stay_known(house: House) -> None:
    """Four notes in two files are one line; an earlier line still works after another purge wrote the history anew."""
    for text in ("the cellar opens with stork", "the attic opens with crane", "the shed opens with egret"):
        await house.says(f"/remember {text}")
    apart = await forgotten(house)
    house.put(DAY, "- 09:00 the garage opens with swan\n")
    several = await house.says("/forget opens with")
    several = await house.says(re.findall(r"`(/forget #[^`]+ #[^`]+)`", several)[0])
    (line,) = re.findall(r"`(/purge [^`]+)`", several)
    assert len(line.split()) == 1 + 4
    assert (await house.says(line)).startswith("Purged: ")
    kept = every_object(house.folder / "history.git")
    assert PASSAGE in kept
    assert [word for word in ("stork", "crane", "egret", "swan") if word in kept] == []
    assert (await house.says(apart)).startswith("Purged: ")
    assert holders(house) == set()
    assert "was purged already" in await house.says(line)


async def test_what_says_the_same_in_other_notes_goes_too(house: House) -> None:
    """In any case, with a speaker, cut off: nobody has to forget each place by itself."""
    line = await forgotten(house)
    house.put(DAY, f"- 10:00 Owner: {PASSAGE.title()}!\n- tea\n- they say {PASSAGE}, I hear\n")
    assert "1 file of notes" in await house.says(line)
    assert house.text(DAY) == "- tea\n- they say , I hear\n"
    assert "heron" not in every_object(house.folder / "history.git").casefold()


async def test_short_notes_are_left_alone_and_named(house: House) -> None:
    """What has a few letters would go from everywhere; the others of the same command go."""
    house.put(DAY, f"- tea at 4\n- {PASSAGE}\n")
    forgotten = await house.says(f"/forget {DAY}#L1-L2")
    (line,) = re.findall(r"`(/purge [^`]+)`", forgotten)
    told = await house.says(line)
    assert told.startswith("Purged: ")
    assert f"would be removed everywhere: {line.split()[1]}" in told
    assert holders(house) == set()


async def test_a_passage_that_still_stands_in_a_document_is_not_purged(house: House) -> None:
    """What is no note is its owner's to change; the file is named, and nothing was changed."""
    line = await forgotten(house)
    house.put("plan.md", f"Note: {PASSAGE}.\n")
    house.put(DAY, f"- {PASSAGE}\n")
    assert "is still in plan.md; remove it there first. Nothing was changed" in await house.says(line)
    assert house.text(DAY) == f"- {PASSAGE}\n"
    assert holders(house) == {"history", "sessions", "workspace"}


async def test_nobody_but_the_owner_purges_and_only_where_nobody_else_reads(house: House) -> None:
    """A group cannot tell that there is such a command; its owner there is sent to their own chat."""
    line = await forgotten(house)
    assert (await house.says(line, MEMBER)).startswith("There is no command /purge here.")
    assert (await house.says(line, OWNER_IN_GROUP)).startswith("/purge works only in your own chat")
    assert "history" in holders(house)
