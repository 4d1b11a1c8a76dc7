"""Marks that Telegram's Markdown converter misreads or reads slowly, replaced beforehand.

Every pattern is linear: the text between two marks never holds the opening one, or is bounded.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from adapters.formatting.formulas import formula_text

_PRIVATE_USE = range(0xE000, 0xF900)
_BACKTICKS = re.compile(r"`+")
_FORMULA = re.compile(
    r"\\\[(?P<block>(?:[^\\]|\\[^\[\]()]){1,1000}+)\\\]"
    r"|\\\((?P<inline>(?:[^\\]|\\[^\[\]()]){1,1000}+)\\\)"
    r"|(?<![\\$])\$\$(?P<dollars>[^$]{1,1000}+)\$\$(?!\$)"
    r"|(?<![\\$\w])\$(?P<dollar>(?!\s)[^$\n]{1,200}+(?<!\s))\$(?![$\w])"
)
_COMMAND = re.compile(r"\\[A-Za-z]|[\^_]\{|\^\w")
_SPOILER = re.compile(r"(?<![\\|])\|\|(?=[^\s|])((?:[^|\n]|\|(?!\|)){1,4000}+)(?<!\s)\|\|(?!\|)")
_STARS = re.compile(r"\\.|(?<![\w*\\])(\*{1,2})[^\s*][^*\n]{0,400}\1(?!\*)|(?<=[^\W_])\*{1,2}(?=[^\W_])")
"""Emphasis at the edge of a word stays; stars between two words or digits are multiplication or power."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LONE_TILDE = re.compile(r"(?<![~\\])~(?!~)")
_TITLE = re.compile(
    r"""((?<!\\)\[(?:[^\[\]\\]|\\.){0,500}+\]\([^\s()<>]{1,2000})"""
    r"""[ \t]{1,9}(?:"[^"\n]{0,300}"|'[^'\n]{0,300}')[ \t]{0,9}\)"""
)
"""No platform shows a link's title. Without the bracket that opens a link there is none, and the words are text."""
_ESCAPED = re.compile(r"\\([<$])")


class MarkPlaceholders(Struct, frozen=True):
    """Private-use characters that stand for marks during conversion; one UTF-16 unit each."""

    less: str
    dollar: str
    bar: str
    star: str
    tilde: str
    line_end: str
    math: str
    hide: str
    show: str

    @classmethod
    def absent_from(cls, text: str) -> "MarkPlaceholders":
        """Return signs that *text* does not hold."""
        held = set(text)
        free = (sign for sign in map(chr, _PRIVATE_USE) if sign not in held)
        return cls(*(next(free) for _ in range(9)))

    @property
    def literals(self) -> dict[int, str]:
        """The marks that the signs stand for, as a table for `str.translate`."""
        signs = (self.less, self.dollar, self.bar, self.star, self.tilde, self.line_end)
        return dict(zip(map(ord, signs), "<$|*~\n", strict=True))

    @property
    def for_converter(self) -> dict[int, str]:
        """The same of the marks that the converter reads."""
        return {ord(self.math): "$$", ord(self.hide): "<tg-spoiler>", ord(self.show): "</tg-spoiler>"}


def prepare(markdown: str, signs: MarkPlaceholders) -> str:
    """Return *markdown* with *signs* for literal marks, formulas in Unicode, and marked spoilers.

    The converter drops HTML tags, takes "$HOME/$USER" for a formula, "a || b || c" for a spoiler and "2*3*4" for
    emphasis; it searches for the ends of formulas in quadratic and for those of spoilers in exponential time.
    """
    return "".join(
        _mask_signs(text, signs) if is_code else _prose(text, signs)
        for span in code_spans(markdown)
        for is_code, text in ([span] if span[0] else _formulas(span[1], signs))
    )


def code_spans(markdown: str) -> Iterator[tuple[bool, str]]:
    """Yield *markdown* in pieces, each with a flag for code between backticks."""
    runs = [(found.start(), found.end()) for found in _BACKTICKS.finditer(markdown)]
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    done = number = 0
    while number < len(runs):
        begin, end = runs[number]
        same = later[end - begin]
        while same and same[-1] <= number:
            same.pop()
        if not same or markdown[begin - 1 : begin] == "\\":
            number += 1
            continue
        yield False, markdown[done:begin]
        number = same[-1]
        done = runs[number][1]
        yield True, markdown[begin:done]
        number += 1
    yield False, markdown[done:]


def _formulas(prose: str, signs: MarkPlaceholders) -> Iterator[tuple[bool, str]]:
    done = 0
    for found in _FORMULA.finditer(prose):
        written = _formula(found, signs)
        if written is not None:
            yield False, prose[done : found.start()]
            yield True, written
            done = found.end()
    yield False, prose[done:]


def _formula(found: re.Match[str], signs: MarkPlaceholders) -> str | None:
    """Return the formula for the converter; None if it is no formula."""
    content = found[found.lastgroup or 0]
    if found["dollar"] is not None and not _COMMAND.search(content):
        return None
    text = formula_text(content)
    if text is None:
        return None
    if found["inline"] is None and found["dollar"] is None:
        return signs.math + text.replace("$", signs.dollar).replace("\n", signs.line_end) + signs.math
    ticks = "``" if "`" in text else "`"
    return ticks + " ".join(text.split()) + ticks


def _prose(prose: str, signs: MarkPlaceholders) -> str:
    prose = _TITLE.sub(r"\1)", prose)
    prose = _SPOILER.sub(rf"{signs.hide}\1{signs.show}", prose)
    prose = keep_stars(prose, signs.star)
    prose = _ESCAPED.sub(lambda found: signs.less if found[1] == "<" else signs.dollar, prose)
    return _mask_signs(prose, signs)


def keep_stars(prose: str, sign: str) -> str:
    """Return *prose* with *sign* for each star between two words or digits, which is not emphasis."""

    def kept(found: re.Match[str]) -> str:
        if found[0].strip("*"):
            return found[0]
        around = prose[found.start() - 1] + prose[found.end()]
        return found[0] if _WIDE.search(around) else sign * len(found[0])

    return _STARS.sub(kept, prose)


def _mask_signs(text: str, signs: MarkPlaceholders) -> str:
    text = _LONE_TILDE.sub(signs.tilde, text.replace("||", signs.bar * 2))
    return text.translate({ord("<"): signs.less, ord("$"): signs.dollar})
