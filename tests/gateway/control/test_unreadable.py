"""What the control API and the exam's record cannot read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.control.exam import _add, _earlier, _PastExam
from gateway.control.remote import _read
from gateway.control.status_wire import Status
from gateway.errors import StrandlineError


def test_an_answer_of_another_version_is_told_in_a_sentence() -> None:
    """Neither a half answer nor a traceback reaches the terminal."""
    for answer in (b"<html>", b'{"agents": 1}'):
        with pytest.raises(StrandlineError, match="is it another version"):
            _read(Status, answer)


def test_a_damaged_line_of_the_exams_record_costs_itself(tmp_path: Path) -> None:
    """A line torn by a crash, or of another version, hides no other examination."""
    file, exam = tmp_path / "exams.jsonl", _PastExam(datetime(2026, 11, 29, tzinfo=UTC), "1", "none", ("a",), ())
    file.write_text('{"at": "2026-11-2\n{"other": 1}\n')
    _add(file, exam)
    assert _earlier(file, UTC) == [exam]
