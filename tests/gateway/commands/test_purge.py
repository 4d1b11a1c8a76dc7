"""What the owner purges is in no version, no conversation and no answer any more."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, House

DAY = "memory/2026-02-28.md"
PASSAGE = "the vault opens with heron"


def every_object(git_dir: Path) -> str:
    """Return the contents of all objects of a repository, as git's program tells."""
    git = shutil.which("git")
    assert git is not None
    command = [git, "--git-dir", str(git_dir), "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")


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
    assert told.startswith("Purged: 2 older texts of files and 6 lines of conversations no longer hold it.")
    assert "backups" in told
    assert PASSAGE not in told
    assert holders(house) == set()
    await house.keeper.finish()
    house.restart()
    assert holders(house) == set()
    assert "tea at four" in house.text("MEMORY.md")
    assert "tea at four" in every_object(house.folder / "history.git")
    house.model = ScriptedModel("Here I am.")
    assert await house.says("still there?") == "Here I am."
    assert isinstance(house.model, ScriptedModel)
    assert PASSAGE not in str(house.model.requests)


async def test_a_purge_names_its_passage_or_does_nothing(house: House) -> None:
    """A revision that is not there, a passage that is too short, words: each is answered with what is wrong."""
    line = await forgotten(house)
    before = holders(house)
    assert "Say which passage" in await house.says("/purge")
    assert "Say which passage" in await house.says("/purge the vault")
    assert "no such revision" in await house.says("/purge MEMORY.md#L3@0123456789")
    revision = line.rpartition("@")[2]
    assert "cannot be purged" in await house.says(f"/purge MEMORY.md#L2@{revision}")
    assert "cannot be purged" in await house.says(f"/purge MEMORY.md#L9999@{revision}")
    assert "nowhere.md" in await house.says(f"/purge nowhere.md#L1@{revision}")
    assert holders(house) == before


async def test_a_passage_that_still_stands_somewhere_is_not_purged(house: House) -> None:
    """It would come back; the file is named."""
    line = await forgotten(house)
    house.put("plan.md", f"Note: {PASSAGE}.\n")
    assert "still stands in plan.md" in await house.says(line)
    assert "history" in holders(house)


async def test_nobody_but_the_owner_purges_and_only_where_nobody_else_reads(house: House) -> None:
    """A group cannot tell that there is such a command; its owner there is sent to their own chat."""
    line = await forgotten(house)
    assert (await house.says(line, MEMBER)).startswith("There is no command /purge here.")
    assert (await house.says(line, OWNER_IN_GROUP)).startswith("/purge works only in your own chat")
    assert "history" in holders(house)
