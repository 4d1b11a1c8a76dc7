"""Search terms of text in any script, and the recognition of identifiers."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.memory.text.tokens import _OTHERS, _pattern, identifiers, normalised, query_terms, terms


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("We are running late", "run"),
        ("three cafés on the corner", "CAFE"),
        ("a cafe", "cafe\u0301"),
        ("Straße gesperrt", "STRASSE"),
        ("Łódź trip", "lodz"),
        ("naïve Ångström", "naive angstrom"),
        ("ﬁnal ｆｕｌｌｗｉｄｔｈ", "final fullwidth"),
        ("l'école est fermée", "ecole"),
        ("The team’s plan", "team"),
        ("Мы купили книги", "книга"),
        ("зелёная ёлка", "елка"),
        ("Ελληνικά ΣΠΊΤΙΑ", "σπιτια"),
        ("οι γάτες", "γάτα"),
        ("قرأت الكتاب", "كتاب"),
        ("مُحَمَّد", "محمد"),
        ("昨日は東京へ行きました", "東京"),
        ("犬が好き", "犬"),
        ("コーヒーを飲む", "コーヒー"),
        ("我喜欢北京烤鸭", "烤鸭"),
        ("도서관에서 책을 읽었다", "도서관"),
        ("ไปโรงเรียน", "โรงเรียน"),
        ("मैं हिन्दी सीख रहा हूँ", "हिन्दी"),
        ("שָׁלוֹם", "שלום"),
        ("party 🎉 tonight", "🎉"),
        ("well done 👍🏽", "👍"),
        ("flight to 🇩🇪", "🇩🇪"),
        ("I ❤️ it", "❤"),
        ("written in C++ and C#", "c++"),
        ("MAX_RETRIES=5", "retries"),
        ("MAX_RETRIES=5", "MAX_RETRIES"),
        ("call getUserById first", "user"),
        ("call getUserById first", "getuserbyid"),
        ("see GLYPH-12345.", "glyph-12345"),
        ("see GLYPH-12345.", "12345"),
        ("GLYPH12345", "glyph"),
        ("edit src/app.py", "app.py src"),
        ("edit ~/.ssh/config now", "~/.ssh/config"),
        ("mail a.b@example.org", "a.b@example.org"),
        ("at https://example.org/a?b=1.", "https://example.org/a?b=1"),
        ("on localhost:5432", "5432"),
        ("release v2.3.1", "v2.3.1"),
    ],
)
def test_a_word_is_found_in_any_script_and_form(said: str, asked: str) -> None:
    """Every term asked for is among the terms of what was said."""
    assert set(query_terms(asked)) <= set(terms(said))
    assert query_terms(asked)


@pytest.mark.parametrize(
    ("said", "asked"),
    [("лайка", "лаика"), ("犬が好き", "猫"), ("🇩🇪", "🇫🇷"), ("v2.3.1", "v2.3.2"), ("C++", "C#")],
)
def test_different_words_stay_different(said: str, asked: str) -> None:
    """Folding does not make one word of two."""
    assert set(query_terms(asked)) - set(terms(said))


def test_stop_words_are_dropped_only_when_something_else_remains() -> None:
    """A query of stop words alone still asks for them, and documents keep theirs."""
    assert query_terms("Where did the cat go?") == ["cat", "go"]
    assert query_terms("Who are you?") == ["who", "are", "you"]
    assert set(query_terms("who are you")) <= set(terms("Who are you, really?"))


def test_a_term_is_asked_once_and_counted_as_often_as_it_stands() -> None:
    """Repeating a word in a query does not weigh it double."""
    assert query_terms("cat cats CAT") == ["cat"]
    assert terms("cat cats CAT").count("cat") == 3


@pytest.mark.parametrize(
    "text",
    [
        *(
            "GLYPH-12345",
            "LT-2093",
            "MAX_RETRIES",
            "getUserById",
            "src/app.py",
            "/etc/hosts",
            ".env",
            "v2.3.1",
            "1.2.3",
        ),
        *("a.b@example.org", "https://example.org/x", "localhost:5432", "192.168.0.1", "8080", "12345", "x86_64"),
        *("a1b2c3d4", "COVID-19", "std::vector", "ТЗ-123", "config.toml", "~/.ssh/config", "PR#12"),
    ],
)
def test_an_identifier_is_recognised_whole(text: str) -> None:
    """It is found inside a sentence, case-folded, without the punctuation around it."""
    assert identifiers(f"what about ({text}), then?") == {text.casefold()}


@pytest.mark.parametrize(
    "text",
    [
        *("2023", "2023-05-08", "10:30", "8.5.2023", "5th", "3pm", "20km", "3.5", "7-year-old", "20-minute", "24/7"),
        *(
            "mid-2022",
            "May-2023",
            "well-known",
            "and/or",
            "e.g.",
            "U.S.",
            "YouTube",
            "iPhone",
            "Caroline's",
            "don't",
            "O'Brien",
        ),
        *("wait...what", "2nd-hand", "東京", "🎉"),
    ],
)
def test_dates_quantities_and_names_are_no_identifiers(text: str) -> None:
    """They may stand in many notes, so an exact match says little."""
    assert identifiers(f"what about {text} then?") == frozenset()


@pytest.mark.parametrize("text", ["what's Henk's number", "whats henks number", "Whats Henk’s number"])
def test_a_query_without_apostrophes_asks_for_the_same(text: str) -> None:
    """The words that say nothing are left out, and the name is the name."""
    assert query_terms(text) == ["henk", "number"]


@given(st.text())
def test_any_text_has_terms_without_blanks_or_capitals(text: str) -> None:
    """No input breaks the tokenizer, and its terms are what a query would be turned into."""
    for term in terms(text):
        assert term
        assert not any(character.isspace() for character in term)
    assert set(query_terms(text)) <= set(terms(text))


@given(st.text() | st.text(string.printable) | st.lists(st.sampled_from(["ab", "C1", *"._/:'+#@, -"])).map("".join))
def test_plain_text_has_the_tokens_that_any_text_has(text: str) -> None:
    """The quicker pattern changes nothing where it is taken."""
    text = _OTHERS.sub("", text)
    quick, every = (
        [(found[0], found.lastgroup) for found in _pattern(is_plain=is_plain).finditer(text)]
        for is_plain in (True, False)
    )
    assert quick == every


@given(st.text())
def test_normal_form_is_stable(text: str) -> None:
    """Text that was normalised once stays as it is."""
    once = normalised(text)
    assert normalised(once) == once
