"""The draft of an answer: how much of it is shown while it is written."""

import time

import pytest

from gateway.turns.drafts import Draft, may_be_silence
from workspaces.secrets import REMOVED, guarding


async def told(*pieces: str) -> list[str]:
    heard: list[str] = []
    draft = Draft(heard.append)
    for piece in pieces:
        await draft(piece)
    return heard


async def test_a_reader_hears_the_whole_text_each_time_that_it_grows() -> None:
    """Pieces are joined: whoever missed some has the next."""
    assert await told("Yes", ", on", " Monday.") == ["Yes", "Yes, on", "Yes, on Monday."]


@pytest.mark.parametrize("silence", ["NO_REPLY", "no_reply\n", " HEARTBEAT_OK", "HEARTBEAT_OK: nothing is due today"])
async def test_a_silent_answer_is_never_shown(silence: str) -> None:
    """However it is cut into pieces, no part of what stays silent is told."""
    assert await told(*silence) == []


@pytest.mark.parametrize("answer", ["No, on Tuesday", "NO_REPLY is what it says", "He is well", "H"])
async def test_an_answer_that_only_begins_like_silence_is_shown_once_that_is_certain(answer: str) -> None:
    """What was held back comes with the piece that tells the difference; a lone letter is left to the final text."""
    heard = await told(*answer)
    assert heard[-1:] == ([answer] if answer != "H" else [])
    assert not any(map(may_be_silence, heard))


async def test_a_long_report_after_the_heartbeats_word_is_shown() -> None:
    """More than 300 characters after it are an answer."""
    assert await told("HEARTBEAT_OK", "x" * 300) == []
    assert await told("HEARTBEAT_OK", "x" * 301) == ["HEARTBEAT_OK" + "x" * 301]


async def test_what_is_written_before_a_tool_is_called_does_not_stand_before_the_answer() -> None:
    """Each reply of the model is a draft of its own."""
    heard: list[str] = []
    draft = Draft(heard.append)
    await draft("Let me look.")
    draft.end_step()
    await draft("It is")
    await draft(" blue.")
    assert heard == ["Let me look.", "It is", "It is blue."]


async def test_a_draft_never_shows_the_word_of_a_heartbeat() -> None:
    """Not at its begin, not as a last line that grows; only what stood before."""
    heard = await told("Good", " day.\n", "\nHEART", "BEAT_", "OK")
    assert heard[:2] == ["Good", "Good day.\n"]
    assert not any("HEART" in each for each in heard)


async def test_a_secret_that_comes_in_two_pieces_is_not_shown() -> None:
    """No draft shows a part of it; what only began like it is shown with what follows."""
    with guarding(["canary-of-drafts"]):
        heard = await told("The key is cana", "ry-of-dra", "fts, or cana", "ries.")
    assert heard[-1] == f"The key is {REMOVED}, or canaries."
    assert not any("cana" in each for each in heard[:-1])


@pytest.mark.parametrize("piece", ["> ", "word ", "*_", "\n\n", "é"])
async def test_a_long_answer_holds_nobody_up(piece: str) -> None:
    """The whole text so far is not read at each of its pieces: 40,000 of them take a second of the processor."""
    draft, begun = Draft(lambda _: None), time.process_time()
    for _ in range(40_000):
        await draft(piece)
    assert time.process_time() - begun < 3
