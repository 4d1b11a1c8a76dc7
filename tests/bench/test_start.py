"""The bench of starts with a real gateway that is killed and started again."""

from bench.start import Backlog, measured


async def test_a_start_goes_on_with_what_was_left() -> None:
    """Everything that was said before the kill and after it is answered; each moment is told, in its order."""
    moments = await measured(Backlog(messages=8, chats=4, turns=3))
    assert list(moments) == ["the first poll", "the first answer", "half of the answers", "all answers"]
    first, half, every = list(moments.values())[1:]
    assert 0 < first.wall_s <= half.wall_s <= every.wall_s
    assert 0 < first.cpu_s <= half.cpu_s <= every.cpu_s
    assert every.resident_mb > 0
