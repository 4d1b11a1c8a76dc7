"""A chat in BEAM's format becomes daily notes, with the evidence and the unanswerable questions kept apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.importers.beam import CHAT, QUESTIONS, read_beam
from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import LocomoQuestion, TurnLocation

BATCHES: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "My kite is red.\n ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Nice:\n\n- a kite"},
            ]
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 2, "time_anchor": "March-16-2024", "content": "Now blue."}]]},
]
ASKED = {
    "abstention": [{"question": "Who made the kite?"}],
    "knowledge_update": [
        {"question": "Which colour is it?", "source_chat_ids": {"original_info": [0], "updated_info": [2, 0, 9]}}
    ],
    "event_ordering": [{"question": "In which order?", "source_chat_ids": [[0, 1], 2]}],
    "summarization": [{"question": "All?", "source_chat_ids": []}],
}


def write(folder: Path, batches: object, asked: object) -> Path:
    for name, data in ((CHAT, batches), (QUESTIONS, asked)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(data))
    return folder


def test_each_message_is_one_line_of_its_day(tmp_path: Path) -> None:
    """Evidence is flattened and named once, a message that does not exist left out, the benchmark's numbering too."""
    [chat] = read_beam(write(tmp_path / "7", BATCHES, ASKED))
    assert chat.agent == "beam-7"
    assert dict(chat.notes) == {
        "memory/2024-03-15.md": "- User: My kite is red.\n- Assistant: Nice: - a kite\n",
        "memory/2024-03-16.md": "- User: Now blue.\n",
    }
    assert chat.places["2"] == TurnLocation("memory/2024-03-16.md", 1)
    assert chat.questions == (
        LocomoQuestion("Which colour is it?", "knowledge-update", ("0", "2")),
        LocomoQuestion("In which order?", "event-ordering", ("0", "1", "2")),
    )
    assert chat.unanswerable == ("Who made the kite?",)


@pytest.mark.parametrize(
    "batches", [{}, [{"turns": 1}], [{"turns": [[{"role": "user", "id": 0, "content": "no day"}]]}]]
)
def test_another_format_is_refused_by_the_folders_name(tmp_path: Path, batches: object) -> None:
    """The operator reads which chat it was; a chat without a day has no notes to lie in."""
    with pytest.raises(ImportFormatError, match="odd is not in BEAM's format"):
        read_beam(write(tmp_path / "odd", batches, ASKED))


def test_a_chat_without_questions_is_refused(tmp_path: Path) -> None:
    """The missing file is named."""
    folder = write(tmp_path / "half", BATCHES, ASKED)
    (folder / QUESTIONS).unlink()
    with pytest.raises(ImportFormatError, match="half cannot be read"):
        read_beam(folder)
