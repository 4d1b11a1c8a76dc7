"""How functions become tools, and what a model is told when a call goes wrong."""

import json
from datetime import date
from enum import StrEnum
from typing import Annotated

import pytest
from msgspec import structs
from pydantic import Field

from gateway.agent.entries import ToolAct, ToolCall
from gateway.agent.tools.tool import RESULT_CAP, Toolbox, tool, unoffered
from gateway.errors import ToolError
from tests.workspaces.turns import CRON, GROUP, GUEST, HEARTBEAT, MAIN, SUBAGENT
from workspaces.access import Access
from workspaces.errors import (
    HistoryUnusableError,
    NoSuchFileError,
    NotDurableError,
    UnusableError,
    WorkspaceUnusableError,
)
from workspaces.memory.client import MemoryUnavailableError, WorkerDiedError
from workspaces.secrets import REMOVED, guarding


class Kind(StrEnum):
    """A choice."""

    PROSE = "prose"
    TABLE = "table"


@tool
async def read(
    path: Annotated[str, Field(description="relative to the workspace")],
    lines: Annotated[int, Field(ge=1, le=99)] = 10,
    kind: Kind = Kind.PROSE,
) -> str:
    """Read a file."""
    match path:
        case "gone":
            raise NoSuchFileError("no file 'gone'")
        case "no":
            raise ToolError("not this one")
        case "long":
            return "x" * (RESULT_CAP + 5)
        case _:
            return f"{path} {lines}"


BOX = Toolbox([read], MAIN)


async def ask(arguments: str, name: str = "read") -> tuple[str, bool]:
    result = await BOX.call(ToolCall("c1", name, arguments))
    assert (result.call_id, result.name) == ("c1", name)
    return result.text, result.is_error


def test_a_tools_spec_comes_from_its_function() -> None:
    """Name, description and schema are those of the function, with nothing to pay for that tells nothing."""
    (spec,) = BOX.specs
    assert (spec.name, spec.description) == ("read", "Read a file.")
    assert spec.parameters == {
        "properties": {
            "path": {"description": "relative to the workspace", "type": "string"},
            "lines": {"type": "integer"},
            "kind": {"enum": ["prose", "table"], "type": "string"},
        },
        "required": ["path"],
        "type": "object",
    }


def test_where_room_is_short_the_texts_for_readers_are_left_out() -> None:
    """The first sentence stays, and the names and types of all arguments, whatever these are called."""

    @tool
    async def lend(description: Annotated[str, Field(description="Whatever it is.")], days: int = 3) -> str:
        """Lend a thing. It has to come back."""
        return f"{description} {days}"

    toolbox = Toolbox([lend], MAIN)
    [whole] = toolbox.specs
    toolbox.fit(whole.characters)
    assert toolbox.specs == (whole,)
    toolbox.fit(whole.characters - 1)
    [short] = toolbox.specs
    assert (short.name, short.description) == ("lend", "Lend a thing.")
    properties = short.parameters["properties"]
    assert isinstance(properties, dict)
    assert properties["description"] == {"type": "string"}
    assert properties["days"]["type"] == "integer"


async def test_a_call_runs_the_function_with_its_defaults() -> None:
    """Arguments that the model leaves out have the function's defaults."""
    assert await ask('{"path": "a"}') == ("a 10", False)
    assert await ask('{"path": "a", "lines": 3}') == ("a 3", False)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("", "path: missing"),
        ("not JSON", "read: arguments"),
        ("[]", "read: arguments"),
        ('{"path": 1}', "path"),
        ('{"path": "a", "lines": "many"}', "lines"),
        ('{"path": "a", "access": "main"}', "access: there is no such argument, only path, lines, kind"),
        ('{"path": "gone"}', "no file 'gone'"),
        ('{"path": "no"}', "not this one"),
        ("[" * 100_000, "read: arguments"),
    ],
)
async def test_a_call_that_cannot_run_says_why(arguments: str, part: str) -> None:
    """Wrong arguments and refusals become error results that name what was wrong."""
    text, is_error = await ask(arguments)
    assert is_error
    assert part in text


async def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    """A model that invents a tool learns the real names, and none that it is not offered."""

    @unoffered
    async def older() -> str:
        return "works"

    text = (await Toolbox([read, older], MAIN).call(ToolCall("c1", "bash", "{}"))).text
    assert text == "there is no tool 'bash'; the tools are: read"


async def test_a_day_in_another_form_is_answered_with_the_right_one() -> None:
    """Without a validator's own words."""

    @tool
    async def look(since: date | None = None) -> str:
        return str(since)

    text = (await Toolbox([look], MAIN).call(ToolCall("c1", "look", '{"since": "soon"}'))).text
    assert text == "look: since: write a day such as 2026-12-03"


async def test_a_long_result_is_cut_and_says_so() -> None:
    """A result never fills the window; the cut tells how much is missing."""
    text, _ = await ask('{"path": "long"}')
    assert text.startswith("x" * RESULT_CAP)
    assert "5 more characters" in text


async def test_others_words_are_sought_in_the_lines_that_a_model_may_see() -> None:
    """The last one whole, though it is cut; a file of a million lines would hold up every other chat."""

    @tool
    async def show() -> str:
        """Show much."""
        return "ab\n" * (RESULT_CAP // 3) + "a line that is cut\n" + "and more\n" * 100_000

    sought: list[str] = []

    def holds_others(text: str) -> bool:
        sought.append(text)
        return False

    box = Toolbox([show], MAIN, holds_others=holds_others)
    assert not (await box.call(ToolCall("c1", "show", "{}"))).from_outside
    assert [text.splitlines()[-1] for text in sought] == ["a line that is cut"]


async def test_a_fault_of_ours_is_not_told_to_the_model() -> None:
    """Only refusals become results; a defect stops the turn, where it is logged with its traceback."""

    @tool
    async def broken() -> str:
        """Break."""
        raise KeyError("internal")

    with pytest.raises(KeyError):
        await Toolbox([broken], MAIN).call(ToolCall("c1", "broken", "{}"))


@pytest.mark.parametrize("access", [MAIN, GROUP, GUEST, SUBAGENT, CRON, HEARTBEAT], ids=lambda each: each.session_type)
@pytest.mark.parametrize(
    ("trouble", "short"),
    [
        (WorkspaceUnusableError("/home/ann/work.lock cannot be locked"), "the files cannot be used now"),
        (HistoryUnusableError("/home/ann/history.git: missing object"), "the history cannot be read now"),
        (MemoryUnavailableError("/home/ann/index: disk I/O error"), "the notes cannot be searched now"),
        (WorkerDiedError("killed by signal 9"), "the notes cannot be searched now"),
        (UnusableError("/home/ann: no"), "this cannot be done now"),
    ],
)
async def test_why_something_does_not_work_is_for_the_owner(access: Access, trouble: UnusableError, short: str) -> None:
    """Such a message names folders of the machine: whoever is not the owner is told the same words for all causes."""

    @tool
    async def failing() -> str:
        """Fail."""
        raise trouble

    result = await Toolbox([failing], access).call(ToolCall("c1", "failing", "{}"))
    assert result.is_error
    assert result.text == (str(trouble) if access in {MAIN, HEARTBEAT} else short)


async def test_a_result_holds_no_known_secret() -> None:
    """Neither a tool's answer nor the refusal that repeats an argument; none is cut in two where a result is cut."""
    key = "canary-of-tools"

    @tool
    async def tell(where: int) -> str:
        """Tell a key."""
        return "x" * where + key

    box = Toolbox([tell], MAIN)
    with guarding([key]):
        assert await ask(json.dumps({"path": key})) == (f"{REMOVED} 10", False)
        text, is_error = await ask(json.dumps({"path": [key]}))
        cut = await box.call(ToolCall("c", "tell", json.dumps({"where": RESULT_CAP - 5})))
    assert is_error
    assert key not in text
    assert "canar" not in cut.text


async def test_a_tool_that_may_pass_things_on_is_not_called_after_marked_text() -> None:
    """One of another program or package; the others work on, and their results carry the mark from then on."""
    called: list[str] = []

    @tool
    async def send(text: str) -> str:
        """Send it."""
        called.append(text)
        return "sent"

    has_read = False
    box = Toolbox([structs.replace(send, is_here=False), read], MAIN, has_read_house=lambda: has_read)
    assert (await box.call(ToolCall("c1", "send", '{"text": "a"}'))).text == "sent"
    assert not (await box.call(ToolCall("c2", "read", '{"path": "a"}'))).is_house
    has_read = True
    refused = await box.call(ToolCall("c3", "send", '{"text": "b"}'))
    assert refused.is_error
    assert "marked house" in refused.text
    assert called == ["a"]
    assert (await box.call(ToolCall("c4", "read", '{"path": "a"}'))).is_house


async def test_a_change_that_may_not_last_is_recorded_as_unsure() -> None:
    """The model is told to look again; the receipt says that it may have happened."""

    @tool
    async def save() -> str:
        raise NotDurableError("a.md was changed, but the change may not last")

    result = await Toolbox([save], MAIN).call(ToolCall("c1", "save", "{}"))
    assert (result.is_error, result.acts) == (True, (ToolAct("unsure", "save"),))
