"""At a terminal, which has no buttons, their commands stand below the answer, and work when typed."""

import re
from pathlib import Path

from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Reply, call, steps
from tests.journeys.house import make_home, openai_section
from tests.journeys.test_what_you_tell import started


def offered(answer: str) -> dict[str, str]:
    """Return the commands below *answer* by their label."""
    return dict(re.findall(r"(?m)^- (.+?): `(/.+?)`$", answer))


def saves(text: str) -> Reply:
    return Reply(calls=(call("save_memory", text=text, category="notes"),))


async def test_a_request_that_was_not_fulfilled_is_done_by_the_command_below_the_answer(tmp_path: Path) -> None:
    """A model that saves nothing, and one that only notes that something is to be forgotten."""
    script = steps(
        "Saved!", Reply(calls=(call("add_note", text="forget the boat"),)), "Forgotten.", "It will ring at nine."
    )
    async with OpenAIStub(script) as stub:
        home = make_home(tmp_path / "home", model=openai_section(stub.url))
        async with started(home) as terminal:
            answer = await terminal.say("Remember that the boat is green.")
            assert answer.startswith("Saved!\n\n— ✗ nothing was saved\n\n- Save it: `/fulfil ")
            assert "Noted in `MEMORY.md#L" in await terminal.say(offered(answer)["Save it"])
            answer = await terminal.say("Forget the boat")
            assert "Forgotten: 2 notes." in await terminal.say(offered(answer)["Forget it"])
            answer = await terminal.say("Remind me tomorrow at nine to call Ann")
            assert "Scheduled as job 1" in await terminal.say(offered(answer)["Schedule it"])
        assert "boat" not in (home.agent("main").workspace / "MEMORY.md").read_text()


async def test_a_likely_replacement_is_decided_by_a_command(tmp_path: Path) -> None:
    """The older line is named as replaced, or both stand."""
    script = steps(
        saves("The staging port is 5432"),
        "Kept.",
        saves("The staging port is 5433 now"),
        "Changed.",
        saves("The gate code is 4711"),
        "Kept.",
        saves("The gate code is 4712 now"),
        "Changed.",
    )
    async with OpenAIStub(script) as stub:
        home = make_home(tmp_path / "home", model=openai_section(stub.url))
        async with started(home) as terminal:
            assert not offered(await terminal.say("the staging port is 5432"))
            answer = await terminal.say("the staging port is 5433 now")
            assert [*offered(answer)] == ["Replaces it", "Both hold", "Later"]
            assert "Corrected in" in await terminal.say(offered(answer)["Replaces it"])
            await terminal.say("the gate code is 4711")
            answer = await terminal.say("the gate code is 4712 now")
            assert "Both stay as they are" in await terminal.say(offered(answer)["Both hold"])
