"""Agents come into the configuration and go out of it; what its owner wrote stays as it was."""

import tomllib

import pytest

from gateway.cli.scaffold import starter_config
from gateway.config.editing import with_agent, without_agent
from gateway.errors import ConfigError

FILE = """# top
owner = { people = ["telegram:7"] } # me

[agents.main] # the first
model = "a"

# about work
[agents."work"]
model = "b"  # its model
# and if that is down
fallbacks = [
  "c",
]
# below work

[[bindings]]
agent = "work"
channel = "telegram"
# after the first binding

[[bindings]] # the second
agent = "main"
chat = "1"

[agents.work-2]
[models.b]
model = "[agents.work]"
"""


def test_what_is_removed_takes_its_own_lines_and_no_others() -> None:
    """Tables, sub-tables and bindings go; comments around them, look-alikes and the rest stay byte for byte."""
    removal = without_agent(FILE, "work")
    start, end = FILE.index('[agents."work"]'), FILE.index("# below work")
    begin, last = FILE.index("[[bindings]]\nagent"), FILE.index("# after the first")
    assert removal.text == FILE[:start] + FILE[end:begin] + FILE[last:]
    assert removal.taken == FILE[start:end] + FILE[begin:last]
    assert "bindings" not in tomllib.loads(without_agent(removal.text, "main").text)


ODD = '[agents.main]\n[agents.work]\nfallbacks = [\n["a"],\n]\n'


@pytest.mark.parametrize("text", ["agents = { main = {}, work = {} }\n", "[agents]\nmain = {}\nwork = {}\n", ODD])
def test_agents_that_are_no_tables_are_left_to_their_owner(text: str) -> None:
    """Rather than guess, the command says what to do by hand."""
    with pytest.raises(ConfigError, match="not a table of its own"):
        without_agent(text, "work")


def test_agents_that_are_one_value_take_no_table() -> None:
    """Nor is one added behind its back."""
    with pytest.raises(ConfigError, match="by hand"):
        with_agent("agents = { main = {} }\n", "work")


@pytest.mark.parametrize("text", ["", FILE, starter_config("Europe/Berlin"), "#x"])
def test_an_agent_that_came_and_went_leaves_the_file_as_it_meant(text: str) -> None:
    """Every line stays; `main`, which was there without being named, is still there beside the new one."""
    added = with_agent(text, "new", "b")
    meant = tomllib.loads(text)
    assert tomllib.loads(added) == meant | {"agents": meant.get("agents", {"main": {}}) | {"new": {"model": "b"}}}
    assert [line for line in text.splitlines() if line] == [
        line for line in added.splitlines() if line in text.splitlines() and line
    ]
    gone = without_agent(added, "new")
    assert tomllib.loads(gone.text) == meant | {"agents": meant.get("agents", {"main": {}})}
    assert gone.taken == '[agents.new]\nmodel = "b"\n'
