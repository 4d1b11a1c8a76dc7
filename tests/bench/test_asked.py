"""Questions of benchmarks: their evidence is found in the notes, and kept apart from them."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bench.asked import CHAT, QUESTIONS, AskedQuestion, QuestionKind, read_beam, read_locomo, read_realtalk
from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import TurnLocation
from tests.gateway.importers.test_locomo import SAMPLE
from tests.gateway.importers.test_realtalk import CHAT as REALTALK

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
        AskedQuestion("Which colour is it?", "knowledge-update", ("0", "2"), (("0",), ("2", "0"))),
        AskedQuestion("In which order?", "event-ordering", ("0", "1", "2")),
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


def locomo(folder: Path, asked: object) -> Path:
    """Write LoCoMo's sample with the questions *asked*."""
    talk = deepcopy(SAMPLE)
    talk[0]["qa"] = asked
    (folder / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    return folder / "talk.json"


def test_questions_keep_the_evidence_that_exists(tmp_path: Path) -> None:
    """Ids are split where several stand in one string; a question without evidence cannot be measured."""
    [talk] = read_locomo(locomo(tmp_path, SAMPLE[0]["qa"]))
    assert [(q.text, q.kind, q.evidence) for q in talk.questions] == [
        ("What did Ann share?", QuestionKind.SINGLE_HOP, ("D1:1",)),
        ("Both?", QuestionKind.MULTI_HOP, ("D1:2", "D3:1")),
    ]


@pytest.mark.parametrize("evidence", [["D01:002"], "D1:2", ["see D1:2, and D9:9."]])
def test_evidence_is_read_as_people_write_it(tmp_path: Path, evidence: list[str] | str) -> None:
    """With leading zeros, as one string, among other words; what names no turn is left out."""
    file = locomo(tmp_path, [{"question": "What?", "evidence": evidence, "category": "4"}])
    [question] = read_locomo(file)[0].questions
    assert (question.evidence, question.kind) == (("D1:2",), QuestionKind.SINGLE_HOP)


@pytest.mark.parametrize("odd", [{"evidence": None}, {}, {"evidence": ["D1:2"], "category": 9}])
def test_a_question_that_cannot_be_measured_is_left_out(tmp_path: Path, odd: dict[str, Any]) -> None:
    """Without evidence, or of a kind that the benchmark does not know."""
    assert read_locomo(locomo(tmp_path, [{"question": "What?", "category": 4, **odd}]))[0].questions == ()


def test_questions_of_another_form_are_refused(tmp_path: Path) -> None:
    """The conversation is named."""
    with pytest.raises(ImportFormatError, match="the questions of talk-7-b cannot be read"):
        read_locomo(locomo(tmp_path, [{"question": "What?", "category": "hard"}]))


def test_a_realtalk_chat_keeps_its_questions(tmp_path: Path) -> None:
    """Those whose evidence exists."""
    file = tmp_path / "Chat_1.json"
    file.write_text(json.dumps(REALTALK))
    [question] = read_realtalk(file)[0].questions
    assert (question.kind, question.evidence) == (QuestionKind.MULTI_HOP, ("D1:2",))
