"""One passage goes out of texts, and nothing else does."""

import json

import pytest

from workspaces.redact import PURGED, Redaction

VAULT = Redaction("- 10:00 the vault opens with heron")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- 10:00 the vault opens with heron\n- 11:00 tea\n", "- 11:00 tea\n"),
        ("- tea\r\n- the vault opens with heron\r\n", "- tea\r\n"),
        ("1. [x] 9:30 the vault opens with heron", ""),
        ("> the vault opens\n> with heron\n", ""),
        ("* the vault\n  opens   with\n  heron\n\ntea\n", "\ntea\n"),
        ("Note: the vault opens with heron, they say.\n", "Note: , they say.\n"),
        ("the vault opens with herons\n", "the vault opens with herons\n"),
        ("- 11:00 Owner: The VAULT opens, with **heron**!\n- tea\n", "- tea\n"),
        ("- Owner (11:00): the vault opens with heron.\n", ""),
        ("the vault opens\n\n\nwith a heron\n", "the vault opens\n\n\nwith a heron\n"),
        (f"the vault opens{' ' * 40}with heron\n", ""),
        (f"the vault opens{' ' * 41}with heron\n", f"the vault opens{' ' * 41}with heron\n"),
        (f"{'-' * 119} the vault opens with heron\n", ""),
        (f"{'-' * 120} the vault opens with heron\n", f"{'-' * 120} \n"),
        ("", ""),
    ],
)
def test_a_passage_goes_from_a_note_with_the_lines_that_hold_nothing_else(text: str, left: str) -> None:
    """However it is listed, dated, broken, indented; a longer word is another one."""
    assert VAULT.out_of(text) == left
    assert VAULT.is_in(text) == (text != left)
    assert not VAULT.is_in(VAULT.out_of(text))


def test_json_keeps_its_shape() -> None:
    """Names, numbers and other texts stay; JSON inside a text is read too, whatever its escapes."""
    inner = json.dumps({"text": 'so: the vault opens\nwith heron "now"', "n": 1}, ensure_ascii=True)
    before = {"a": "the vault opens with heron", "b": ["tea", inner, None, True, 3], "vault": {"x": "[not JSON"}}
    after = VAULT.over(before)
    assert after == {
        "a": PURGED,
        "b": ["tea", json.dumps({"text": f'so: {PURGED} "now"', "n": 1}), None, True, 3],
        "vault": {"x": "[not JSON"},
    }
    assert VAULT.over(after) == after


def test_what_is_not_concerned_stays_byte_for_byte() -> None:
    """JSON in a text is not written anew for nothing."""
    odd = '{ "a" :  1e3 }'
    assert VAULT.over({"x": odd}) == {"x": odd}


def test_special_characters_are_taken_as_they_are() -> None:
    """No text is a pattern."""
    redaction = Redaction("(a|b)* costs $5.00 [sic]")
    assert redaction.out_of("- (a|b)* costs $5.00 [sic]\n- aaaa costs $5x00 s\n") == "- aaaa costs $5x00 s\n"


@pytest.mark.parametrize("passage", ["", "  \n", "- 10:00 tea", "short", "a b c d e f g", "四七一", "四七 一a"])
def test_a_short_passage_is_refused(passage: str) -> None:
    """It would go from everywhere."""
    with pytest.raises(ValueError, match="fewer than 8"):
        Redaction(passage)


def test_a_line_of_a_dialogue_is_known_without_its_speaker() -> None:
    """What a session's note quotes is what the conversation says; without a time a name may be a part of the note."""
    said = Redaction("15:35 Owner: what is my salary")
    assert said.is_in("What is my salary?")
    assert not Redaction("Password: quokka").is_in("a quokka")
    assert Redaction("Owner (15:35): café au lait").is_in("cafe\u0301 au lait")
    assert Redaction("我的密码是四七一一").out_of("记住我的密码是四七一一吧") == "记住吧"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- so: the vault opens with heron and a ha…\n", "- so: …\n"),
        ("I said the vault opens with heron...", "I said ..."),
        ("the vault opens with heron and nothing", "the vault opens with heron and nothing"),
        ("the vault opens…", "the vault opens…"),
        (f"the vault...{' ' * 40}opens with heron and", f"the vault...{' ' * 40}opens with heron and"),
    ],
)
def test_a_passage_that_was_cut_off_is_known_by_its_beginning(text: str, left: str) -> None:
    """Quotations in answers are cut; another sentence that begins alike is another one."""
    redaction = Redaction("the vault opens with heron and a hammer that lies below")
    assert redaction.over(text) == left.replace("so: …", f"so: {PURGED}…").replace("said ...", f"said {PURGED}...")
    assert redaction.is_in(text) == (text != left)


def test_a_beginning_of_few_letters_is_not_enough() -> None:
    """Five words may be five letters, which begin other sentences too."""
    assert not Redaction("a b c d e harbour").is_in("a b c d e…")
    assert Redaction("a b c d ever harbour").is_in("a b c d ever…")


def test_a_script_without_spaces_says_more_with_a_letter() -> None:
    """Four signs are long enough, and found as they stand."""
    assert Redaction("四七一一").out_of("密码四七一一\n") == "密码\n"


def test_several_passages_go_at_once() -> None:
    """Those that overlap or stand side by side too."""
    redaction = Redaction("alpha beta gamma", "gamma delta epsilon")
    assert redaction.out_of("- alpha beta gamma\n- tea\n- gamma delta epsilon\n") == "- tea\n"
    assert redaction.over("so alpha beta gamma delta epsilon ends") == f"so {PURGED} ends"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("/forget heron", f"/forget {PURGED}"),
        ("/memory@bot VAULT heron", f"/memory@bot {PURGED}"),
        ("/forget heron nest", "/forget heron nest"),
        ("/new", "/new"),
    ],
)
def test_a_command_that_names_a_passage_says_nothing_of_it(given: str, left: str) -> None:
    """The words by which it was looked for are its own words."""
    assert VAULT.over(given) == left
    name, _, words = given.partition(" ")
    call = {"name": name, "arguments": json.dumps({"arguments": words})}
    after = VAULT.over(call)
    assert isinstance(after, dict)
    assert (PURGED in str(after["arguments"])) == (given != left)


def test_a_result_that_was_cut_is_json_no_more_and_loses_the_passage_too() -> None:
    """The letter of an escape, as of a line's end, is no part of the word behind it."""
    told = json.dumps({"path": "memory/a.md", "text": 'one\nthe quokka key is "under"\nthe zinnias\ntwo'})
    redaction = Redaction('the quokka key is "under"\nthe zinnias')
    assert redaction.over(f"{told[:-4]}\n[cut: 4 more characters]") == (
        '{"path": "memory/a.md", "text": "one\\n' + PURGED + "\\nt\n[cut: 4 more characters]"
    )
