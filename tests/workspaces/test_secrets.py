"""Known secrets in texts: in which forms they are found, and what is left alone."""

import base64
import html
import json
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workspaces.secrets import (
    REMOVED,
    Redactor,
    Sieve,
    guarding,
    holds_secret,
    is_guarded,
    redact,
    redact_all,
    redact_bytes,
)

CANARY = 'bot12345:AA"cänary/+&?'
LONGER = CANARY + "-and-more"

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=8, max_size=60).filter(is_guarded)
AROUND = st.text(st.characters(codec="utf-8"), max_size=40)


@given(SECRETS, AROUND, AROUND)
@example('a"b\\c/d&e<f', "", "")
def test_a_secret_is_found_in_every_form(secret: str, before: str, after: str) -> None:
    """Plain, as JSON in JSON, as HTML and in a URL, whatever stands around it; what is around it stays."""
    redact_one = Redactor([secret])
    quoted = [quote(secret), quote(secret, safe=""), quote_plus(secret)]
    escaped = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    nested = [json.dumps(form)[1:-1] for form in escaped]
    for form in [secret, html.escape(secret), *quoted, *escaped, *nested]:
        left = redact_one(f"{before} {form} {after}")
        assert form not in left.replace(REMOVED, "")
        assert left.startswith(redact_one(f"{before} "))
        assert left.endswith(redact_one(f" {after}"))


@given(SECRETS, st.binary(max_size=9), st.binary(max_size=9), st.sampled_from(["standard", "url"]))
def test_a_secret_in_base64_is_found_wherever_it_begins(secret: str, before: bytes, after: bytes, kind: str) -> None:
    """In each of the three alignments: less than two bytes of it are left at either end."""
    encode, decode = (
        (base64.b64encode, base64.b64decode)
        if kind == "standard"
        else (base64.urlsafe_b64encode, base64.urlsafe_b64decode)
    )
    content = secret.encode()
    text = encode(before + content + after).decode()
    left = Redactor([secret])(text)
    assert REMOVED in left
    head, _, tail = left.partition(REMOVED)
    shown = decode(head + "=" * (-len(head) % 4)) if len(head) % 4 != 1 else decode(head[:-1])
    assert len(shown) <= len(before) + 1
    assert len(tail.rstrip("=")) * 6 // 8 <= len(after) + 1


@given(SECRETS, AROUND, st.lists(st.integers(1, 12), max_size=30))
def test_pieces_of_a_text_show_no_part_of_a_secret(secret: str, around: str, lengths: list[int]) -> None:
    """However a text is cut into pieces, nothing but the redacted text is shown, in order and never taken back."""
    text, shown = f"{around}{secret}{around}.", ""
    with guarding([secret]):
        sieve = Sieve()
        for length in [*lengths, len(text)]:
            shown += sieve(text[:length])
            text = text[length:]
        whole = redact(f"{around}{secret}{around}.")
    assert whole.startswith(shown)
    assert secret[:-1] not in shown.replace(REMOVED, "") or secret[:-1] in around


def test_a_longer_secret_is_not_cut_by_a_shorter_one() -> None:
    """One secret may begin with another."""
    assert Redactor([CANARY, LONGER])(f"{LONGER} {CANARY}") == f"{REMOVED} {REMOVED}"


@pytest.mark.parametrize("weak", ["", "tiny", "1234567", "20261123", "telegram", "strandline"])
def test_what_is_no_secret_that_can_be_told_from_words_is_left_alone(weak: str) -> None:
    """Short texts, short numbers and single words stand in texts that hold no secret."""
    assert Redactor([weak])(f"a {weak} b") == f"a {weak} b"


class Kind(StrEnum):
    """A word of ours."""

    ONE = "kind-one-of-two"


@dataclass(frozen=True, slots=True)
class Inner:
    """A part."""

    words: tuple[str, ...]
    kind: Kind = Kind.ONE


@dataclass(frozen=True, slots=True)
class Outer:
    """A whole."""

    inner: Inner
    facts: dict[str, object]
    size: int = 3


def test_every_text_in_a_value_is_redacted() -> None:
    """In tuples, lists, mappings and dataclasses; a value without a secret is itself, and our own words stay."""
    whole = Outer(Inner(("a", f"b {CANARY}")), {"c": [CANARY, 1, None]})
    with guarding([CANARY, "kind-one-of-two"]):
        assert redact_all(whole) == Outer(Inner(("a", f"b {REMOVED}")), {"c": [REMOVED, 1, None]})
        clean = Outer(Inner(("a",)), {"c": ["d"]})
        assert redact_all(clean) is clean


def test_bytes_that_are_no_text_stay() -> None:
    """A text is redacted; a picture is not damaged."""
    with guarding(["canary-canary"]):
        assert redact_bytes(b"a canary-canary b") == f"a {REMOVED} b".encode()
        assert redact_bytes(b"\xff\xd8 canary-canary") == b"\xff\xd8 canary-canary"


def test_secrets_are_known_while_their_block_runs() -> None:
    """Two gateways in one process know each other's; the first to end takes only its own along."""
    with guarding(["first-canary"]):
        with guarding(["second-canary"]):
            assert redact("first-canary second-canary") == f"{REMOVED} {REMOVED}"
        assert redact("first-canary second-canary") == f"{REMOVED} second-canary"
    assert not holds_secret("first-canary")


@dataclass(frozen=True)
class Entry:
    """A part that can be referred to weakly."""

    words: str


def test_what_was_clean_is_looked_at_again_once_another_secret_is_known() -> None:
    """Members of a list are looked at once; nothing that was found then stands when more becomes secret."""
    said = [Entry("the code is hunter2-hunter2")]
    with guarding(["another-secret-1"]):
        assert redact_all(said) is said
        with guarding(["hunter2-hunter2"]):
            assert redact_all(said) == [Entry(f"the code is {REMOVED}")]
        assert redact_all(said) is said
