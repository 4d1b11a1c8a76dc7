"""`strandline memory exam` at a home with a past: questions from its own words, with a trend, offline."""

from pathlib import Path

from gateway.control.exam import EXAMS
from gateway.control.exam_wire import ExamOrder
from tests.journeys.house import make_home
from tests.journeys.test_what_you_tell import started

FACTS = (
    "The boiler's serial number is BX-7741-Q.",
    "Mira's flight to Lisbon leaves on 14 May.",
    "We pay the piano tuner 85 euros.",
)


async def test_an_agent_is_examined_on_what_it_was_told(tmp_path: Path) -> None:
    """All comes back, nothing is lost the second time, and the record holds none of the words."""
    home = make_home(tmp_path / "home")
    async with started(home) as terminal:
        assert (await terminal.app.operator.ask(ExamOrder())).asked == 0
        for fact in FACTS:
            await terminal.say(f"Remember that {fact}")
        first = await terminal.app.operator.ask(ExamOrder())
    async with started(home) as terminal:
        again = await terminal.app.operator.ask(ExamOrder())
    assert first.found == first.asked > len(FACTS)
    assert first.kinds.keys() == {"date", "identifier", "name", "number"}
    assert first.before == ()
    assert (again.lost, len(again.before)) == (0, 1)
    assert f"{first.asked} of {first.asked} (100.0%)" in again.before[0]
    record = (home.agent("main").root / EXAMS).read_text("utf-8")
    assert len(record.splitlines()) == 2
    assert "boiler" not in record
    assert "BX" not in record
