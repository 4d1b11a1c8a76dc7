"""Unicode's normal forms: what Unicode says of every text of people, and linear time for every text of attackers."""

import re
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from workspaces.attachments import cleaned_name
from workspaces.memory.exact_search import folded_text
from workspaces.memory.text.claims import claims_of
from workspaces.memory.text.tokens import normalised
from workspaces.normal_form import normal_form
from workspaces.paths import fold
from workspaces.redact import Redaction

ROOT = Path(__file__).parents[2]
FORMS: list[Literal["NFC", "NFD", "NFKC", "NFKD"]] = ["NFC", "NFD", "NFKC", "NFKD"]
MARKS = "\u0301\u0323" * 50_000
"""Marks above and below by turns, which each have to change places with all before them."""
FILES = ("workspaces/normal_form.py", "adapters/formatting/formulas.py")
"""The second reads a thousand characters at most."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "Ångström, ﬁn, naïve",
        "हिन्दी ไทย བོད་ཡིག עִבְרִית",
        "e" + "\u0323\u0301" * 15,
        "👩‍👩‍👧 " * 40,
        "。" * 99,
        "한국어",
    ],
)
def test_a_text_of_people_has_unicodes_own_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> None:
    """No language puts more than thirty marks on a letter."""
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("knot", ["\u0301\u0323", "\u0f73", "e\u0301\u0323", "\u0323\u0301\u0327", "\u302e\u0301"])
def test_a_row_of_marks_takes_linear_time(form: Literal["NFC", "NFD", "NFKC", "NFKD"], knot: str) -> None:
    """Twice, as a form has one too; every mark is still there."""
    began = time.process_time()
    once = normal_form(form, knot * 50_000)
    again = normal_form(form, once)
    assert time.process_time() - began < 3
    assert len(again) >= 50_000


@pytest.mark.parametrize(
    "reads",
    [folded_text, normalised, fold, claims_of, lambda text: cleaned_name(text, ""), Redaction("eight letters").is_in],
    ids=["exact search", "words", "paths", "claims", "names of files", "passages"],
)
def test_no_reader_is_held_up_by_marks(reads: Callable[[str], object]) -> None:
    """One message with 50,000 pairs held up everybody for a quarter of a minute."""
    began = time.process_time()
    reads(f"e{MARKS} and more")
    assert time.process_time() - began < 3


def test_no_other_code_takes_a_normal_form() -> None:
    """So that none is slow."""
    found = (path for folder in ("adapters", "gateway", "workspaces") for path in (ROOT / folder).rglob("*.py"))
    takes = re.compile(r"unicodedata\.(?:is_)?normalize\w*\(|from unicodedata")
    assert {str(path.relative_to(ROOT)) for path in found if takes.search(path.read_text("utf-8"))} == {*FILES}
