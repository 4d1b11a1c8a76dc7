"""Scoring of the retrieval bench, and one run on a small corpus."""

import json
import re
from pathlib import Path

import pytest

from bench.notes import ordinary_notes
from bench.retrieval import ASSISTED, METHODS, Corpus, Outcome, Question, Report, interval, measure, outcome, run
from gateway.errors import StrandlineError
from gateway.importers.imported import ImportFormatError
from workspaces.access import PRIVATE
from workspaces.memory.entry import Entry


def entry(line: int, text: str = "x" * 400) -> Entry:
    return Entry("memory/a.md", PRIVATE, line, line, line, text, "", None, "")


def asked(*lines: int) -> Question:
    return Question("what?", "list", frozenset(("memory/a.md", line) for line in lines))


def test_recall_counts_the_evidence_and_ndcg_its_places() -> None:
    """Two pieces of evidence on places 1 and 7, by hand."""
    judged = outcome("notes", asked(1, 7), [entry(line) for line in range(1, 9)])
    assert judged.recall == {5: 0.5, 10: 1.0, 25: 1.0, 50: 1.0}
    assert judged.ndcg == pytest.approx((1 + 1 / 3) / (1 + 0.6309297535714575))


def test_a_budget_is_spent_on_what_comes_first() -> None:
    """An entry of 400 letters takes 104 tokens with its citation, so four fit into 500."""
    judged = outcome("notes", asked(5), [entry(line) for line in range(1, 9)])
    assert judged.within == {500: 0.0, 1_000: 1.0, 2_000: 1.0}


def test_an_answer_without_evidence_scores_nothing() -> None:
    """Neither does an empty one."""
    for found in ([entry(2)], []):
        judged = outcome("notes", asked(1), found)
        assert (judged.recall[50], judged.ndcg) == (0.0, 0.0)


def judged(corpus: str, recall: float) -> Outcome:
    return Outcome(
        corpus, "list", dict.fromkeys((5, 10, 25, 50), recall), dict.fromkeys((500, 1_000, 2_000), recall), recall
    )


def test_the_interval_is_over_whole_corpora() -> None:
    """Many questions of two corpora that differ leave it wide, and it is the same at every run."""
    outcomes = [judged("a", 1.0)] * 50 + [judged("b", 0.0)] * 50
    assert interval(outcomes, 10) == interval(outcomes, 10) == (0.0, 100.0)


def test_a_single_corpus_is_not_reported_as_certain() -> None:
    """With one corpus its questions are drawn, so that the interval has a width."""
    low, high = interval([judged("a", 1.0), judged("a", 0.0)] * 20, 10)
    assert 20 < low < 50 < high < 80


def test_a_report_has_the_first_method_on_top_and_all_below() -> None:
    """The shape that scripts read, in per cent."""
    report = Report({"default": [judged("a", 0.75)], "bm25": [judged("a", 0.5)]}).as_json()
    assert report["recall_at_10"] == 75.0
    figures = {**dict.fromkeys(_names(), 75.0), "questions": 1, "recall_at_10_interval": [75.0, 75.0]}
    assert report["by_kind"] == {"list": figures}
    assert report["by_conversation"] == {"a": figures}
    assert report["leaving_out"] == {}
    methods = report["methods"]
    assert isinstance(methods, dict)
    assert {name: figures["ndcg_at_10"] for name, figures in methods.items()} == {"default": 75.0, "bm25": 50.0}


def test_conversations_are_told_apart_and_left_out_one_by_one() -> None:
    """Each with its interval, so that a figure that hangs on one of them shows; as a table too."""
    report = Report({"default": [judged("a", 1.0), judged("b", 0.5), judged("b", 0.0)]})
    figures = report.as_json()
    apart, without = figures["by_conversation"], figures["leaving_out"]
    assert isinstance(apart, dict)
    assert isinstance(without, dict)
    assert {name: each["recall_at_10"] for name, each in apart.items()} == {"a": 100.0, "b": 25.0}
    assert {name: each["recall_at_10"] for name, each in without.items()} == {"a": 25.0, "b": 100.0}
    assert apart["b"]["recall_at_10_interval"] == [0.0, 50.0]
    table = report.as_text()
    assert re.search(r"\| all but b \| 100\.0 .* 100\.0 to 100\.0 \|", table)
    assert "3 questions" in table


def _names() -> list[str]:
    depths = [f"recall_at_{depth}" for depth in (5, 10, 25, 50)]
    return [*depths, "ndcg_at_10", *(f"recall_in_{budget}_tokens" for budget in (500, 1_000, 2_000))]


def test_every_label_of_the_ordinary_notes_points_at_one_line() -> None:
    """At least sixty questions, and none is labelled with words that stand twice or nowhere."""
    corpus = ordinary_notes()
    assert len(corpus.questions) >= 60
    assert all(question.evidence for question in corpus.questions)


def test_every_method_searches_the_real_index() -> None:
    """With the shipped embedder and engine: an exact name is found by all that read words, a paraphrase by meaning."""
    notes = {
        "MEMORY.md": "- The spare key is with the neighbour downstairs.\n- Rent is due on the third.\n",
        "memory/2026-03-04.md": "- 08:00 ticket AB-1207 is closed\n- 09:00 ticket AB-1208 is open\n- 10:00 it rains\n",
    }
    questions = [
        Question("AB-1207", "identifier", frozenset({("memory/2026-03-04.md", 1)})),
        Question("Who can unlock my flat?", "paraphrase", frozenset({("MEMORY.md", 1)})),
    ]
    report = measure([Corpus("small", notes, questions)], list(METHODS))
    found = {name: [o.ndcg for o in outcomes] for name, outcomes in report.outcomes.items()}
    assert found["default"] == [1.0, 1.0]
    assert found["keywords"][0] == found["bm25"][0] == found["substring"][0] == 1.0
    assert found["dense"][1] == found["pooled"][1] == 1.0
    assert "| default | 100.0 |" in report.as_text()


def test_a_file_in_locomos_format_is_measured(tmp_path: Path) -> None:
    """The evidence is looked for on the lines that the turns went to."""
    turns = [
        {"speaker": "Ann", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(("Hi!", "I like kites."), 1)
    ]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = {"question": "What does Ann like?", "evidence": ["D1:2"], "category": 4}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"sample_id": "a", "conversation": talk, "qa": [asked]}]), encoding="utf-8")
    report = run(file, ["substring"])
    assert list(report.outcomes) == ["default", "substring"]
    [judged] = report.outcomes["default"]
    assert (judged.kind, judged.recall[5], judged.ndcg) == ("single-hop", 1.0, 1.0)
    asked["evidence"] = ["D7:7"]
    file.write_text(json.dumps([{"sample_id": "a", "conversation": talk, "qa": [asked]}]), encoding="utf-8")
    with pytest.raises(ImportFormatError, match=r"talk\.json has no question whose evidence"):
        run(file, ["default"])


def test_a_method_that_nobody_helps_is_refused() -> None:
    """From Python too."""
    corpus = Corpus("small", {"MEMORY.md": "- tea\n"}, [Question("tea", "x", frozenset({("MEMORY.md", 1)}))])
    for method in ASSISTED:
        with pytest.raises(StrandlineError, match="is configured"):
            measure([corpus], [method])
