"""Preservation of an answer's words in every form of display."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters import text as rendering
from adapters.channel import Body, Entity, EntityType
from adapters.terminal import terminal_parts
from adapters.text import TELEGRAM_LIMIT, telegram_parts

FRAGMENTS = (
    *(
        "**",
        "*",
        "_",
        "`",
        "```py\n",
        "```\n",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "- [x] ",
        "#",
        "# ",
        "---\n",
        "~~",
        "||",
    ),
    *("[note](memory/a.md)", "[", "](", ")", "https://a.example/b?c=d", "![cat](https://a.example/c.png)", "!"),
    *("<b>", "</b>", "<!-- x -->", "&lt;", "&", "$", r"\(\frac{a}{b}\)", r"\(", r"\)", "{", "}", "\\"),
    *("|", "| a | b |\n|---|---|\n", "[^1]: ", "[todo]: ", " ", "\t", "    ", "\r\n", "\x00", "\u200b", "\ud83d"),
    *("word", "слово", "日本語", "😀", "👩\u200d👩\u200d👧", "@everyone"),
)
MARKDOWN = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=60).map("".join)
LIMITS = st.integers(min_value=2, max_value=80)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def cut(body: Body, entity: Entity) -> str:
    """What *entity* covers; raises UnicodeDecodeError when it begins or ends within a character."""
    raw = body.text.encode("utf-16-le")
    return raw[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def shown(markdown: str) -> tuple[str, list[tuple[EntityType, str]]]:
    """The one part's text and what is formatted in it."""
    (body,) = telegram_parts(markdown)
    return body.text, [(entity.type, cut(body, entity)) for entity in body.entities]


@given(MARKDOWN, LIMITS)
def test_parts_together_are_the_whole(markdown: str, limit: int) -> None:
    """Cutting loses nothing: between two parts only white space may be missing, and each part fits."""
    whole = "".join(part.text for part in telegram_parts(markdown, limit=10**9))
    at = 0
    for part in telegram_parts(markdown, limit):
        found = whole.index(part.text, at)
        assert not whole[at:found].strip()
        assert 0 < units(part.text) <= limit
        at = found + len(part.text)
    assert not whole[at:].strip()


@given(MARKDOWN, LIMITS)
def test_every_entity_lies_within_its_part(markdown: str, limit: int) -> None:
    """Entities cover whole characters of the part that carries them, and links lead to the web."""
    for part in telegram_parts(markdown, limit):
        for entity in part.entities:
            assert entity.length > 0
            assert units(cut(part, entity)) == entity.length
            assert (entity.type is EntityType.TEXT_LINK) == (entity.url is not None)


@given(st.lists(st.sampled_from(["word", "x1", "слово", "日本語"]), min_size=1), st.sampled_from(FRAGMENTS))
def test_no_word_is_swallowed(words: list[str], around: str) -> None:
    """Whatever stands between them, every word arrives."""
    parts = telegram_parts(around.join(words))
    text = "".join(part.text for part in parts)
    for word in set(words):
        assert text.count(word) >= words.count(word)


@given(MARKDOWN)
def test_the_same_text_gives_the_same_parts(markdown: str) -> None:
    """Delivery goes on after a restart at the part where it stopped."""
    assert telegram_parts(markdown, 40) == telegram_parts(markdown, 40)
    assert terminal_parts(markdown) == terminal_parts(markdown)


@pytest.mark.parametrize("blank", ["", " ", "\n\n\t", "\u3000"])
def test_blank_text_has_no_parts(blank: str) -> None:
    """There is nothing to send, rather than something that a platform refuses."""
    assert telegram_parts(blank) == ()
    assert terminal_parts(blank) == ()


def test_markdown_becomes_entities() -> None:
    """Headings, emphasis, code, quotes and links are shown as Telegram shows them, without their signs."""
    text, formats = shown(
        "# Head\n\n**bold** _it_ ~~no~~ `code` [site](https://a.example)\n\n> said\n\n```py\nx = 1\n```"
    )
    assert text == "Head\n\nbold it no code site\n\nsaid\n\nx = 1"
    assert set(formats) == {
        (EntityType.BOLD, "Head"),
        (EntityType.UNDERLINE, "Head"),
        (EntityType.BOLD, "bold"),
        (EntityType.ITALIC, "it"),
        (EntityType.STRIKETHROUGH, "no"),
        (EntityType.CODE, "code"),
        (EntityType.TEXT_LINK, "site"),
        (EntityType.BLOCKQUOTE, "said"),
        (EntityType.PRE, "x = 1"),
    }


@pytest.mark.parametrize(
    "literal",
    [
        "use <b>bold</b> & <tag>",
        "$HOME/$USER and 5$ or $6",
        "a || b || c",
        "<div>\nblock\n</div>",
        "<!-- kept -->",
        "5 < 6 > 4",
    ],
)
def test_signs_that_only_look_like_markup_stay(literal: str) -> None:
    """HTML, dollar signs and double bars are text, in prose and in code, and what is around them is formatted."""
    assert shown(f"**so**\n\n{literal}") == (f"so\n\n{literal}", [(EntityType.BOLD, "so")])
    assert shown(f"```\n{literal}\n```") == (literal, [(EntityType.PRE, literal)])


@pytest.mark.parametrize("swallowed", ["[todo]: milk", "[^1]: a note"])
def test_text_that_markdown_would_swallow_comes_out_as_written(swallowed: str) -> None:
    """Plain text rather than lost words."""
    assert telegram_parts(swallowed) == (Body(swallowed),)


def test_a_spoiler_and_a_formula_are_still_formatted() -> None:
    """What is kept from harm elsewhere still works where it is meant."""
    assert shown("||hush||") == ("hush", [(EntityType.SPOILER, "hush")])
    assert shown(r"\(\frac{a}{b}\)") == ("a/b", [(EntityType.CODE, "a/b")])
    assert shown("- [x] done\n- [ ] open")[0].strip() == "☑ done\n☐ open"


def test_a_link_to_a_file_is_spelled_out() -> None:
    """Telegram would take `notes.md` for a host in Moldova; formatting around and behind it stays in place."""
    text, formats = shown("😀 **see [my notes](notes.md) now** and _this_")
    assert text == "😀 see my notes (notes.md) now and this"
    assert formats == [(EntityType.BOLD, "see my notes (notes.md) now"), (EntityType.ITALIC, "this")]


def test_a_link_cannot_mention_anybody() -> None:
    """A `tg://` link would ring a person's bell."""
    assert shown("[hi](tg://user?id=7)") == ("hi (tg://user?id=7)", [])


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:8080/x",
        "https://",
        "https://a.example:99999/",
        "https://a.example:/",
        "https://a@b.example",
        "x",
    ],
)
def test_a_link_that_telegram_refuses_is_spelled_out(target: str) -> None:
    """One such link would cost the whole message; a link to a port or with a query is one."""
    assert shown(f"[here]({target})") == (f"here ({target})", [])
    assert shown("[here](https://a.example:8080/?b=c#d)") == ("here", [(EntityType.TEXT_LINK, "here")])


def test_a_long_answer_is_cut_at_line_ends_and_formatting_goes_on() -> None:
    """A code block over several messages is code in each of them."""
    code = "".join(f"line {number}\n" for number in range(500))
    parts = telegram_parts(f"```py\n{code}```")
    assert len(parts) == 2
    assert all(units(part.text) <= TELEGRAM_LIMIT for part in parts)
    assert all(part.text.startswith("line ") for part in parts)
    assert "".join(part.text for part in parts) == code.rstrip("\n")
    assert [part.entities for part in parts] == [
        (Entity(EntityType.PRE, 0, units(part.text), language="py"),) for part in parts
    ]


def test_a_cut_never_parts_a_surrogate_pair() -> None:
    """An emoji is two units and one character."""
    parts = telegram_parts("x" + "😀" * 4000)
    assert [units(part.text) for part in parts] == [4095, 3906]


def test_a_lone_surrogate_is_replaced() -> None:
    """Half an emoji, as a model's broken JSON may hold, would stop the encoder; its pair is joined."""
    assert telegram_parts("a\ud83d b") == (Body("a\ufffd b"),)
    assert telegram_parts("\ud83d\ude00") == (Body("😀"),)
    assert terminal_parts("a\ud83d b") == (Body("a\ufffd b"),)


def test_a_formatter_that_fails_costs_the_formatting_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Plain text rather than nothing, and a line in the log without the text."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("secret words")

    monkeypatch.setattr(rendering, "convert", broken)
    assert telegram_parts("**secret** words") == (Body("**secret** words"),)
    assert [record.message for record in caplog.records] == [
        "Markdown could not be converted; the text is sent as written"
    ]
    assert "secret" not in caplog.text


def test_a_terminal_gets_the_markdown_without_its_teeth() -> None:
    """The text stays as written; escape sequences are shown instead of obeyed."""
    assert terminal_parts("# Hi\n\n- **a**\t[b](c.md)") == (Body("# Hi\n\n- **a**\t[b](c.md)"),)
    assert terminal_parts("\x1b]52;c;ZXZpbA==\x07 \x7f\x9b2J\r") == (Body("␛]52;c;ZXZpbA==␇ ␡\ufffd2J␍"),)


@given(MARKDOWN)
def test_a_terminal_never_gets_a_control_character(markdown: str) -> None:
    """Only line ends and tabs may move the cursor."""
    for part in terminal_parts(markdown):
        assert len(part.text) <= len(markdown)
        assert not any(
            character < " " or "\x7f" <= character < "\xa0"
            for character in part.text.replace("\n", "").replace("\t", "")
        )


@settings(deadline=None)
@given(st.sampled_from(["**a", "[[a](b", "|", ">", "~a~ ", "*a_", "||", "$", "`", "<", "\\("]))
def test_hostile_markdown_is_read_in_time(knot: str) -> None:
    """4,000 signs that pair with nothing take no longer than a blink."""
    before = time.process_time()
    telegram_parts(knot * (4000 // len(knot)))
    assert time.process_time() - before < 2
