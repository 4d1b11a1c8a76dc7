"""Telling answerable from unanswerable questions."""

import json
from pathlib import Path

import pytest

from bench.answerable import area, run


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    """Ties count half."""
    assert area([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)
    assert area([0.1], [0.9]) == 0


def test_the_questions_of_both_kinds_are_asked(tmp_path: Path) -> None:
    """In LoCoMo the adversarial ones are unanswerable."""
    turns = [
        {"speaker": "Ann", "dia_id": f"D1:{n}", "text": text}
        for n, text in enumerate(("It rains.", "I like kites."), 1)
    ]
    asked = [
        {"question": "What does Ann like?", "evidence": ["D1:2"], "category": 4},
        {"question": "Which violin did Bo lend to the harbour master?", "evidence": ["D1:2"], "category": 5},
    ]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"sample_id": "a", "conversation": talk, "qa": asked}]), encoding="utf-8")
    assert run(file).startswith(
        "1 answerable, 1 unanswerable: area under the curve 1.000; nothing clearly fits for 0.0 %"
    )
