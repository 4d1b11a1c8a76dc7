"""LaTeX formulas as Unicode text."""

import re
import unicodedata
from collections import Counter

from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

LONGEST_FORMULA = 1000
"""Longer ones stay as written: the converter copies the rest of a formula at each of its commands."""
_DEEPEST = 20
"""Most nested braces: each level is read again by the enclosing one."""
_LOOKS_LIKE_MATHEMATICS = re.compile(r"\\[A-Za-z]|[\^_=<>]")
_LONGEST_NAME = 20
_COMMANDS = re.compile(r"\\(?:begin|end|color)\s?\{[^{}]{0,40}\}(?:\{[lcr|]{0,20}\})?|\\[A-Za-z]+")


def formula_text(latex: str) -> str | None:
    """Return *latex* in Unicode, unchanged if conversion loses letters; None if it is no formula."""
    latex = latex.strip()
    is_name = len(latex) <= _LONGEST_NAME and len(latex.split()) == 1
    if not latex or not (is_name or _LOOKS_LIKE_MATHEMATICS.search(latex)):
        return None
    if len(latex) > LONGEST_FORMULA or _depth(latex) > _DEEPEST:
        return latex
    try:
        text = str(LatexToUnicodeHelper().parse(latex)).strip()  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - whatever it trips over, the formula is shown as written
        return latex
    lost = letters(_COMMANDS.sub("", latex)) - letters(text)
    return latex if lost or not text else "\n".join(line for line in text.split("\n") if line.strip())


def letters(text: str) -> Counter[str]:
    """Count the letters and digits of *text*, whatever their form: "²" is a 2."""
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def _depth(latex: str) -> int:
    depth = deepest = 0
    for sign in latex:
        depth += (sign in "{[") - (sign in "}]" and depth > 0)
        deepest = max(deepest, depth)
    return deepest
