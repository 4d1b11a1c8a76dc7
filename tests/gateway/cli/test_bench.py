"""The measurements, as their commands give them."""

import json
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.fakes.embedding_stub import EmbeddingStub, refusal

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
    assert list(report["methods"]) == ["default", "keywords", "substring"]
    assert report["methods"]["substring"]["recall_at_10"] == 0.0


def test_a_method_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says which methods there are."""
    assert run(["bench", "retrieval", "--data", str(tmp_path), "--method", "magic"], {}, "strandline") == 2
    assert "keywords" in capsys.readouterr().err


QUESTION = {"question": "Which things did Ada and Ben tend to?", "evidence": ["D1:2"], "category": 1}


def home_with(folder: Path, *sections: str) -> list[str]:
    """Write a configuration and a conversation; return the words that measure it but for the methods."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text("\n".join(sections))
    (folder / "config.toml").chmod(0o600)
    data = folder / "conversations.json"
    data.write_text(json.dumps([{**CONVERSATION[0], "qa": [QUESTION]}]))
    return ["bench", "retrieval", "--data", str(data), "--json", "--home", str(folder)]


def test_reranking_is_measured_beside_the_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the configured provider, with Cohere's own schema; its order is the method's, and the default is on top."""
    with EmbeddingStub() as stub:
        words = home_with(tmp_path, f'[memory.rerank]\nbase_url = "{stub.url}"\n')
        assert run([*words, "--method", "rerank"], {"CO_API_KEY": "key"}, "strandline") == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["methods"]) == ["default", "rerank"]
    assert (report["ndcg_at_10"], report["methods"]["rerank"]["ndcg_at_10"]) == (100.0, 63.1)  # the longest first
    assert (stub.problems, len(stub.bodies)) == ([], 1)


def test_a_method_without_its_provider_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured, naming the setting."""
    assert run([*home_with(tmp_path), "--method", "rerank"], {}, "strandline") == 2
    assert "CO_API_KEY" in capsys.readouterr().err


def test_a_failing_provider_ends_the_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A figure over questions of which some went without would say nothing."""
    with EmbeddingStub() as stub:
        stub.always = refusal(500)
        words = home_with(tmp_path, f'[memory.rerank]\nbase_url = "{stub.url}"\n')
        assert run([*words, "--method", "rerank"], {"CO_API_KEY": "key"}, "strandline") == 1
    told = capsys.readouterr()
    assert (told.out, "--method rerank: cohere rerank" in told.err) == ("", True)


def test_data_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path is no traceback."""
    assert run(["bench", "retrieval", "--data", str(tmp_path / "none.json")], {}, "strandline") == 1
    assert "none.json" in capsys.readouterr().err
