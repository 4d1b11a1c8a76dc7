"""The measurements, as their commands give them."""

import json
from pathlib import Path

import pytest

from gateway.cli.main import run

CONVERSATION = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I bought a red bicycle in Ghent."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "My piano was tuned yesterday."},
            ],
        },
        "qa": [{"question": "Where was the bicycle bought?", "answer": "Ghent", "evidence": ["D1:1"], "category": 4}],
    }
]


def test_retrieval_is_measured_in_per_cent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first method's figures are on top, every method's below; the right passage of two is found."""
    data = tmp_path / "conversations.json"
    data.write_text(json.dumps(CONVERSATION))
    words = ["bench", "retrieval", "--data", str(data), "--json", "--method", "keywords", "--method", "substring"]
    assert run(words, {}, "strandline") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["recall_at_10"] == 100.0
    assert report["by_kind"]["single-hop"]["recall_at_10"] == 100.0
    assert report["methods"]["substring"]["recall_at_10"] == 0.0


def test_a_method_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says which methods there are."""
    assert run(["bench", "retrieval", "--data", str(tmp_path), "--method", "magic"], {}, "strandline") == 2
    assert "keywords" in capsys.readouterr().err


def test_data_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path is no traceback."""
    assert run(["bench", "retrieval", "--data", str(tmp_path / "none.json")], {}, "strandline") == 1
    assert "none.json" in capsys.readouterr().err
