"""A chat in REALTALK's format becomes daily notes."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import TurnLocation
from gateway.importers.realtalk import read_realtalk

CHAT: dict[str, Any] = {
    "name": {"speaker_1": "Ann", "speaker_2": "bo"},
    "session_2": [{"clean_text": "Back.", "speaker": "bo", "date_time": "02.01.2024, 00:04:00", "dia_id": "D2:1"}],
    "session_1": [
        {"clean_text": "Hi\nyou", "speaker": "Ann", "date_time": "01.01.2024, 23:58:04", "dia_id": "D1:1"},
        {"speaker": "bo", "date_time": "02.01.2024, 00:01:00", "dia_id": "D1:2", "blip_caption": "a kite"},
    ],
    "session_1_date_time": "01.01.2024, 23:58:04",
    "qa": [
        {"question": "What did bo share?", "evidence": ["D1:02", "D9:9"], "category": 1},
        {"question": "Lost?", "evidence": ["D9:9"], "category": 2},
    ],
}


def test_a_session_lies_in_the_note_of_the_day_it_began(tmp_path: Path) -> None:
    """Sessions come in order of time, and each message is one line with its speaker."""
    file = tmp_path / "Chat_1.json"
    file.write_text(json.dumps(CHAT))
    (chat,) = read_realtalk(file)
    assert chat.agent == "chat-1"
    assert dict(chat.notes) == {
        "memory/2024-01-01.md": "- 23:58 Ann: Hi you\n- 00:01 bo: [shares a photo: a kite]\n",
        "memory/2024-01-02.md": "- 00:04 bo: Back.\n",
    }
    assert chat.places["D1:2"] == TurnLocation("memory/2024-01-01.md", 2)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "[]", '{"qa": []}'])
def test_another_format_is_refused_by_the_files_name(tmp_path: Path, text: str) -> None:
    """The operator reads which file it was."""
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(ImportFormatError, match=r"other\.json"):
        read_realtalk(file)
