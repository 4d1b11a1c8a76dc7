"""Words for days, weeks, months, weekdays and ranges in thirteen languages, in lower case without accents.

dateparser knows more languages, but reads one question in 100 to 600 ms (a search takes 6), takes "we", "to" and "la"
for dates, and does not know "last weekend" (docs/decisions/0013-dates-in-questions.md).
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field


class DateWords(Struct, frozen=True):
    """One language's words, as regular expressions; `{n}` is a number, `{u}` a unit; `; ` parts two forms."""

    days: Mapping[str, int]
    """Days from today."""
    units: Sequence[str]
    """Day, week, month, year, weekend."""
    ago: str
    last: str
    this: str
    following: str = ""
    """Next week, as `last`."""
    ahead: str = ""
    """In two days, as `ago`."""
    numbers: str = ""
    """Words for 1, 2, 3 …, each with its alternatives; `_` is a space."""
    weekdays: str = ""
    """From Monday."""
    months: str = ""
    """From January."""
    before: str = ""
    """Until a day; the text right before it."""
    after: str = ""
    between: str = ""
    joins: str = ""
    """And, to: between the days of a range."""
    has_spaces: bool = True
    whole: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """A whole unit as one word: its place in `units`, and how many before this one."""


LANGUAGES: Mapping[str, DateWords] = {
    name: DateWords(**words)
    for name, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
