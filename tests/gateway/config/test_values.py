"""Setting one value of a configuration's text."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.values import dotted, key_path, toml_value, value_in, with_value, without_value
from gateway.errors import ConfigError

FILE = """\
# top

[owner]   # who
people = ["telegram:1"]   # only me # really
# time_zone = "Asia/Tokyo"

# about main
[agents.main]
model = "a"

[channels.telegram.home]
token_env = "T"
groups = { "-5" = { mention = true } }   # inline

[[bindings]]
agent = "main"
channel = "telegram"
"""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("owner.people", ["telegram:1", "telegram:777"]),
        ("owner.time_zone", "Europe/Berlin"),
        ("agents.main.model", "b"),
        ("agents.main.budget.tokens_a_day", 5),
        ('channels.telegram.home.groups."-7".mention', False),
        ("channels.telegram.home.token_env", "HOME_TOKEN"),
        ("models.b.provider", "openai"),
        ("limits.steps", 3),
        ("new", 1.5),
    ],
)
def test_a_value_is_set_and_everything_else_stays(key: str, value: object) -> None:
    """Every comment and every other line is there afterwards, in its order."""
    path = key_path(key)
    changed = with_value(FILE, path, value)
    assert value_in(tomllib.loads(changed), path) == value
    lines = [line for line in FILE.splitlines() if line]
    kept = [line for line in changed.splitlines() if line in lines]
    assert len(lines) - len(kept) <= 1
    assert [line for line in lines if line in kept] == kept
    for comment in ("# top", "# who", "# only me # really", "# about main", "# inline", '# time_zone = "Asia/Tokyo"'):
        assert comment in changed


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("owner.people", ['people = ["telegram:1"]   # only me # really']),
        ("agents.main.model", ['model = "a"']),
        ("agents.main", ["[agents.main]", 'model = "a"']),
        ("channels.telegram", ["[channels.telegram.home]", 'token_env = "T"', FILE.splitlines()[12]]),
        ('channels.telegram.home.groups."-5".mention', [FILE.splitlines()[12]]),
    ],
)
def test_a_value_is_removed_and_everything_else_stays(key: str, gone: list[str]) -> None:
    """A line, a table, and one inside an inline table, whose line is written anew."""
    changed = without_value(FILE, key_path(key))
    assert value_in(tomllib.loads(changed), key_path(key)) is None
    kept = changed.splitlines()
    assert [line for line in FILE.splitlines() if line and line not in kept] == gone
    with pytest.raises(ConfigError, match="is not set in the file"):
        without_value(changed, key_path(key))


def test_a_table_is_shown_as_a_file_may_hold_it() -> None:
    """Settings without a value have no place in TOML."""
    table = {"model": "offline", "queue": None, "budget": {"money_a_day": None}}
    assert toml_value(table) == '{ model = "offline", budget = {} }'
    assert tomllib.loads(f"main = {toml_value(table)}") == {"main": {"model": "offline", "budget": {}}}


def test_a_list_of_tables_is_removed_by_hand() -> None:
    """Its lines would have to be counted."""
    with pytest.raises(ConfigError, match="cannot be removed from a file of this form"):
        without_value(FILE, ("bindings",))


def test_a_list_of_several_lines_is_replaced_whole() -> None:
    """Its last line's comment stays."""
    text = '[owner]\npeople = [\n  "telegram:1",\n]   # mine\nzone = 1\n'
    changed = with_value(text, ("owner", "people"), ["a", "b"])
    assert changed == '[owner]\npeople = ["a", "b"]   # mine\nzone = 1\n'


def test_a_text_that_looks_like_a_table_is_none() -> None:
    """A value of several lines that holds a header and a key is left alone."""
    text = 'note = """\n[owner]\npeople = 1\n"""\n'
    changed = with_value(text, ("owner", "people"), ["telegram:7"])
    assert tomllib.loads(changed) == {**tomllib.loads(text), "owner": {"people": ["telegram:7"]}}
    assert changed.startswith(text.rstrip())


def test_what_cannot_be_set_is_refused() -> None:
    """A value inside of a value, or a key that is none; the file is as it was."""
    for key in ("", "a b", "a..b", "a = 1\nb", "a.b]", "'"):
        with pytest.raises(ConfigError, match="is not a key"):
            key_path(key)


@given(
    st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3),
    st.recursive(
        st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=2),
        max_leaves=4,
    ),
)
def test_any_text_comes_back(path: list[str], value: object) -> None:
    """Whatever the letters of a key or a value are."""
    try:
        changed = with_value("", tuple(path), value)
    except ConfigError:
        return  # a lone surrogate is no text of a file
    assert value_in(tomllib.loads(changed), tuple(path)) == value
    assert key_path(dotted(path)) == tuple(path) or any("\n" in part for part in path)
