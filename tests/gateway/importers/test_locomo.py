"""Import of a LoCoMo conversation as daily notes."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import TurnLocation, conversations, read_locomo
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.text.chunking import entries_of

SAMPLE: list[dict[str, Any]] = [
    {
        "sample_id": "Talk 7/b",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "12:09 am on 3 July, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Good\nmorning!"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi!", "img_url": ["x"], "blip_caption": "a red kite"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice - is it 09:00?"},
            ],
            "session_3_date_time": "6:00 pm on 3 July, 2023",
            "session_3": [{"speaker": "Ann", "dia_id": "D3:1", "text": "Back again."}],
            "session_4_date_time": "6:00 pm on 4 July, 2023",
        },
        "qa": [
            {"question": "What did Ann share?", "answer": "a kite", "evidence": ["D1:1"], "category": 4},
            {"question": "Both?", "answer": 2, "evidence": ["D1:2; D3:1", "D1:2"], "category": 1},
            {"question": "Lost?", "evidence": ["D9:9", "D"], "category": 2},
            {"question": "None?", "adversarial_answer": "x", "evidence": [], "category": 5},
        ],
    }
]


def test_a_session_becomes_a_days_note_with_one_entry_a_turn() -> None:
    """Sessions are in order of time, two on one day share a note, captions are told, line breaks are not kept."""
    [talk] = conversations(SAMPLE)
    assert talk.agent == "talk-7-b"
    assert dict(talk.notes) == {
        "memory/2023-05-08.md": "- 13:56 Ann: Hi! [shares a photo: a red kite]\n- 13:56 Bo: Nice - is it 09:00?\n",
        "memory/2023-07-03.md": "- 00:09 Bo: Good morning!\n- 18:00 Ann: Back again.\n",
    }


def test_the_place_of_a_turn_is_the_line_that_search_will_cite() -> None:
    """Each turn is an entry of its own, on the line that the evidence is looked up by."""
    [talk] = conversations(SAMPLE)
    for path, text in talk.notes.items():
        lines = [entry.start_line for entry in entries_of(Document(path, PRIVATE, text, None, ""))]
        assert lines == [place.line for place in talk.places.values() if place.path == path]
    assert talk.places["D3:1"] == TurnLocation("memory/2023-07-03.md", 2)


def test_nothing_of_an_answer_is_in_the_notes() -> None:
    """Neither answers nor turn ids are searched."""
    [talk] = conversations(SAMPLE)
    assert not any("D1:" in text or "a kite" in text.replace("a red kite", "") for text in talk.notes.values())


def test_what_is_not_locomo_is_refused_with_the_place(tmp_path: Path) -> None:
    """No JSON, another shape, a date of another form: each is named."""
    file = tmp_path / "talk.json"
    for text in ("{", "[" * 100_000, "9" * 5_000):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ImportFormatError, match=r"talk\.json cannot be read as JSON"):
            read_locomo(file)
    with pytest.raises(ImportFormatError, match="cannot be read"):
        read_locomo(tmp_path / "absent.json")
    with pytest.raises(ImportFormatError, match=r"at 0\.sample_id"):
        conversations([{"conversation": {}, "qa": []}])
    wrong = deepcopy(SAMPLE)
    wrong[0]["conversation"]["session_1_date_time"] = "yesterday"
    with pytest.raises(ImportFormatError, match=r"Talk 7/b\.session_1_date_time is not like"):
        conversations(wrong)
    wrong = deepcopy(SAMPLE)
    del wrong[0]["conversation"]["session_1"][1]["dia_id"]
    with pytest.raises(ImportFormatError, match=r"at Talk 7/b\.session_1\.1\.dia_id"):
        conversations(wrong)
    with pytest.raises(ImportFormatError, match="at the top"):
        conversations("talk")
    with pytest.raises(ImportFormatError, match="two conversations are called talk-7-b"):
        conversations(SAMPLE * 2)


def test_a_turn_without_words_is_told_by_its_photo() -> None:
    """Its caption alone becomes the entry."""
    talk = deepcopy(SAMPLE)
    talk[0]["conversation"]["session_1"][0]["text"] = None
    [read] = conversations(talk)
    assert "13:56 Ann: [shares a photo: a red kite]" in read.notes["memory/2023-05-08.md"]


def test_a_file_is_read(tmp_path: Path) -> None:
    """What is on disk gives what the parsed JSON gives."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(SAMPLE), encoding="utf-8")
    assert read_locomo(file) == conversations(SAMPLE)
