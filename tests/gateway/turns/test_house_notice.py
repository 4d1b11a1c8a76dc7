"""What the sender is told about text with the mark `house`."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import Quote
from gateway.agent.entries import ReplyEntry, UserEntry
from gateway.agent.models.port import ModelRequest, OnText, unshown
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.records import Records
from gateway.turns.house_notice import carries_mark, chat_app
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import OWNER, open_house
from workspaces.access import Locality


class NearModel(ScriptedModel):
    """A scripted model on the owner's machine."""

    reader = Locality.HERE

    async def reply(self, request: ModelRequest, on_text: OnText = unshown) -> ReplyEntry:
        return replace(await super().reply(request, on_text), is_house=request.is_house)


async def test_a_chat_app_is_named_once_where_it_carries_marked_text(tmp_path: Path) -> None:
    """In the first answer of a conversation whose turn has read some; not for other text, nor on our own channels."""
    async with open_house(tmp_path) as house:
        house.model = NearModel("Hello.")
        assert await house.says("hello") == "Hello."
        house.put("MEMORY.md", "- the code is 7 #house\n")
        house.model = NearModel("It is 7.", "Still 7.")
        assert "and Telegram carries what I say here" in await house.says("what is the code?")
        assert await house.says("and now?") == "Still 7."
        assert [chat_app(replace(OWNER.address, channel=ours)) for ours in ("web", "terminal", "http")] == [""] * 3


@pytest.mark.parametrize(
    ("quoted", "is_marked"),
    [("the pin is 4711", True), ("pin is 4711\n", True), ("the pin is lost", False), (" ", False)],
)
def test_who_quotes_others_words_of_a_marked_chat_marks_the_message(quoted: str, *, is_marked: bool) -> None:
    """Also once the chat's mark has ended; other words of others are free, and so is a picture without any."""
    said = UserEntry("the pin is 4711", OWNER.sent_at, "Sam", "1", is_house=True)
    later = UserEntry("the pin is lost", OWNER.sent_at, "Sam", "2")
    records = Records(Record(TurnId("t1"), OWNER.sent_at, each) for each in (said, later))
    asked = replace(OWNER, text="what does this mean?", quote=Quote("Sam", quoted))
    assert carries_mark(asked, records) is is_marked
