"""Search terms of text in any script, and the identifiers in a query.

Text is normalised (NFKC, accents folded, case folded), words are stemmed by script, scripts without spaces become pairs
of characters, and identifiers are kept whole beside their parts.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise

from py_rust_stemmers import SnowballStemmer

from workspaces.lazy_pattern import lazy_pattern
from workspaces.normal_form import normal_form

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana and its marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul: words have spaces, but particles stick to them
)
_HAN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"  # flags are pairs
    "|[\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b00-\u2bff]"
)
"""Skin tones (U+1F3FB to U+1F3FF), joiners and variation selectors are left out: 👍🏽 is found by 👍."""

_CYRILLIC = "\u0400-\u04ff"
_FOLDED_MARKS = lazy_pattern(
    f"(?<![{_CYRILLIC}])[\u0300-\u036f]"
    "|[\u0300-\u0305\u0307\u0309-\u036f]"  # й and ї keep their breve and dots: without them they are other letters
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"  # Hebrew points
    "|[\u0610-\u061a\u0640\u064b-\u065f\u0670]"  # Arabic vowel signs and the stretching stroke
)
_UNDECOMPOSED = str.maketrans("đĐøØłŁıёЁ’ʼ", "dDoOlLiеЕ''")

_OTHERS = lazy_pattern("[^\0-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u20ac]")
"""What is no Latin, Greek or Cyrillic letter nor one of their signs: it may be a mark, an emoji or have no spaces."""
_MARKS = frozenset({"Mn", "Mc"})
"""Categories of characters that belong to the letter before them."""
_CLITIC = lazy_pattern(r"'(?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_HUMP = lazy_pattern(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|_+")

_ENGLISH = """
a about after again all also am an and any are aren't as at be because been before being both but by can can't could
couldn't did didn't do does doesn't doing don't down during each ever few for from further get gets got had hadn't has
hasn't have haven't having he her here hers herself him himself his how i if in into is isn't it its itself just let
many me more most much my myself no nor not now of off on once only or other our ours ourselves out over own same she
should shouldn't so some such than that the their theirs them themselves then there these they this those through to
too under until up very was wasn't we were weren't what when where which while who whom whose why will with won't
would wouldn't you your yours yourself yourselves
"""
_ASKING = "whats whos wheres whens whys hows thats theres heres im ive youre theyre hes shes"
STOP_WORDS = frozenset([*_ENGLISH.split(), *_ENGLISH.replace("'", "").split(), *_ASKING.split()])
"""English function words, also as typed without an apostrophe; a query drops them if other words remain, documents keep
them.
"""

WORDS_KEPT = 20_000
"""Words with cached terms, about 4 MB: a language's common words recur."""


@cache
def _pattern(*, is_plain: bool) -> re.Pattern[str]:
    """Return the pattern of tokens; that for plain text takes less time, and 16 ms less to be compiled."""
    marks = "" if is_plain else "".join(chr(n) for n in range(0x300, 0x10000) if unicodedata.category(chr(n)) in _MARKS)
    bare = r"\w" if is_plain else rf"[^\W{UNSPACED}]"
    letter = bare if is_plain else rf"(?:{bare}[{marks}]*)"
    others = "" if is_plain else rf"|(?P<run>[{UNSPACED}][{UNSPACED}{marks}]*)|(?P<emoji>{_EMOJI})"
    return re.compile(
        r"(?![a-zA-Z0-9]++(?:[\s,;!?()\"]|\.?(?:\s|\Z)))"  # plain words, most of them, are tried as nothing else
        rf"(?P<compound>[a-zA-Z][a-zA-Z0-9+.-]{{0,40}}://[^\s<>\"'`]*{bare}/?"  # URL
        rf"|(?:(?<![\w./~])(?:~?/\.?|\.\.?/|\.))?{letter}+(?:(?:[-._/\\@#+]|::|:(?=\d)){letter}+)+"
        rf"|(?<![\w./~])(?:~?/\.?|\.\.?/|\.){letter}+)"
        rf"|(?P<word>[A-Za-z](?:\+\+|\#)(?!\w)|{letter}+(?:'{letter}+)*){others}"
    )


def _tokens(text: str) -> Iterator[re.Match[str]]:
    text = normalised(text)
    return _pattern(is_plain=_OTHERS.search(text) is None).finditer(text)


def normalised(text: str) -> str:
    """Return *text* with compatibility forms resolved and accents folded; case is kept.

    Latin and Greek lose their accents, Arabic and Hebrew their vowel signs, Cyrillic ё becomes е. Folding happens in
    documents and in queries alike, so that "café" and "cafe" find each other.
    """
    if text.isascii():
        return text
    decomposed = normal_form("NFD", normal_form("NFKC", text))
    return normal_form("NFC", _FOLDED_MARKS.sub("", decomposed)).translate(_UNDECOMPOSED)


def lower_case(text: str) -> str:
    """Return *text* in lower case, letter by letter: its places are those of *text*.

    A pattern of many words takes a quarter of the time on it that it takes when it ignores case.
    """
    low = text.lower()
    return low if len(low) == len(text) else "".join(low if len(low := each.lower()) == 1 else each for each in text)


def terms(text: str) -> list[str]:
    """Return the search terms of a document's *text*, in order, with repetitions."""
    return _terms(_tokens(text))


def query_terms(text: str) -> list[str]:
    """Return the search terms of a query, each once: as `terms`, without stop words if other words remain."""
    matches = list(_tokens(text))
    kept = [match for match in matches if match.lastgroup != "word" or not _is_stop(match[0])]
    return list(dict.fromkeys(_terms(kept or matches)))


def _terms(matches: Iterable[re.Match[str]]) -> list[str]:
    found: list[str] = []
    for match in matches:  # a generator for each word would take a tenth longer
        found += _terms_of_word(match[0]) if match.lastgroup == "word" else _terms_of(match)
    return found


@lru_cache(2_048)
def _is_stop(word: str) -> bool:
    word = word.casefold()
    return word in STOP_WORDS or _CLITIC.sub("", word) in STOP_WORDS


def _terms_of(match: re.Match[str]) -> Iterator[str]:
    match match.lastgroup:
        case "compound":
            yield from _nested_compounds(match[0].casefold())
            for word in re.findall(r"\w+", match[0]):
                yield from _terms_of_word(word)
        case "run":
            yield from _pairs(match[0])
        case _:
            yield match[0]


def _nested_compounds(compound: str) -> Iterator[str]:
    """Yield the whole, and the parts of a path that are compounds themselves: `app.py` of `src/app.py`."""
    yield compound
    steps = compound.split("/")
    if len(steps) > 1:
        yield from (step for step in steps if step and not step.isalnum())


@lru_cache(maxsize=WORDS_KEPT)
def _terms_of_word(word: str) -> tuple[str, ...]:
    word = _CLITIC.sub("", word)
    if "'" in word and not word.casefold().endswith("n't"):
        return tuple(term for part in word.split("'") for term in _terms_of_word(part))
    parts = [part for part in _HUMP.split(word) if part]
    return tuple(stem(part.casefold()) for part in ([word, *parts] if len(parts) > 1 else [word]))


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
        return
    for first, second in pairwise(run):
        yield first + second
    yield from _HAN.findall(run)


def stem(word: str) -> str:
    """Return the stem of a case-folded *word*, by the Snowball rules for its script; English for Latin letters."""
    language = _language(word[:1])
    return _stemmer(language).stem_word(word) if language else word


def _language(letter: str) -> str | None:
    match letter:
        case _ if letter.isascii() or "\u00c0" <= letter <= "\u024f":
            return "english" if letter.isalpha() else None
        case _ if "\u0400" <= letter <= "\u04ff":
            return "russian"
        case _ if "\u0600" <= letter <= "\u06ff":
            return "arabic"
        case _ if "\u0370" <= letter <= "\u03ff" or "\u1f00" <= letter <= "\u1fff":
            return "greek"
        case _ if "\u0b80" <= letter <= "\u0bff":
            return "tamil"
        case _:
            return None


@cache
def _stemmer(language: str) -> SnowballStemmer:
    return SnowballStemmer(language)


_QUANTITY = lazy_pattern(r"\d+(?:[.,:]\d+)?[-.]?[^\W\d_]{0,3}|\d+(?:st|nd|rd|th)?(?:-[^\W\d_]+)+")
"""12, 3.5, 5th, 20km, 3pm, 7-year-old: measurements, not names."""
_DATE = lazy_pattern(
    r"\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?(?:t[\d:]+)?|\d{1,2}\.\d{1,2}\.(?:\d\d|\d{4})|\d\d?:\d\d:\d\d"
    r"|(?-i:(?![A-Z]+-))[^\W\d_]{3,40}-(?:19|20)\d\d",
    re.IGNORECASE,
)
"""With mid-2023 and May-2023, but not LT-2093, the number of a ticket."""
_YEAR = lazy_pattern(r"(?:19|20)\d\d")
_CAMEL = lazy_pattern(r"^[a-z]{2}[a-z0-9]*[A-Z][a-z]")
"""getUser, but neither YouTube nor iPhone: those are names that many notes may contain."""
_ABBREVIATION = lazy_pattern(r"(?:[^\W\d_]\.)+[^\W\d_]?", re.IGNORECASE)


def identifiers(text: str) -> frozenset[str]:
    """Return the names in *text* that require an exact match, case-folded.

    Ticket numbers, environment variables, code symbols, paths, versions, addresses, URLs, long numbers. Dates, times,
    quantities and hyphenated words are not identifiers.
    """
    return frozenset(match[0].casefold() for match in _tokens(text) if _is_identifier(match))


def identifiers_held(names: frozenset[str], text: str) -> frozenset[str]:
    """Return those of *names*, from `identifiers`, that *text* contains; GLYPH-1234 is not in GLYPH-12345."""
    folded = normalised(text).casefold() if names else ""
    return frozenset(name for name in names if name in folded and _exact_pattern(name).search(folded))


@lru_cache
def _exact_pattern(identifier: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(identifier)}(?![\w-]|\.\w)")


def _is_identifier(match: re.Match[str]) -> bool:
    token = match[0]
    if match.lastgroup == "word":
        return _is_code_word(token)
    if match.lastgroup != "compound" or _ABBREVIATION.fullmatch(token):
        return False
    if "://" in token or "@" in token or "_" in token or "::" in token:
        return True
    has_digit = any(character.isdigit() for character in token)
    if has_digit:
        return not (_QUANTITY.fullmatch(token) or _DATE.fullmatch(token))
    return token[0] in "./~" or token.count("/") > 1 or bool(re.search(r"\w\.\w", token))


def _is_code_word(word: str) -> bool:
    if word.islower() and word.isalpha():
        return False
    if word.isdigit():
        return len(word) > 3 and not _YEAR.fullmatch(word)
    if "'" in word:
        return False
    if "_" in word.strip("_") or _CAMEL.search(word):
        return True
    return any(c.isdigit() for c in word) and not _QUANTITY.fullmatch(word)
