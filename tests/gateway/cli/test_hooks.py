"""`strandline hooks …`: what takes part in what, and what one of them would change."""

import json

from tests.gateway.cli.terminal import Terminal
from tests.gateway.hooks.folder import program, put

RULES = """
from dataclasses import replace
from gateway.hooks import MESSAGE_SENDING, MESSAGE_SENT, on

@on(MESSAGE_SENDING, priority=2)
def signs(event):
    return replace(event, text=event.text + "\\x1b[2J!")

@on(MESSAGE_SENDING)
def fails(event):
    return event.text

@on(MESSAGE_SENT)
def looks(event): ...
"""


def test_hooks_are_listed_in_their_order_with_their_rules(at_home: Terminal) -> None:
    """For people and for machines; without any there is a word on how to begin."""
    assert "strandline docs hooks" in at_home("hooks", "list").out
    assert json.loads(at_home("hooks", "list", "--json").out) == {"hooks": []}
    put(at_home.home.hooks, "rules.py", RULES)
    program(at_home.home.hooks, "before_compaction.d/ask", "true")
    lines = at_home("hooks", "list").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["message_sending", "rules.py:signs,"],
        ["message_sending", "rules.py:fails;"],
        ["message_sent", "rules.py:looks;"],
        ["before_compaction", "before_compaction.d/ask;"],
    ]
    assert lines[0].endswith("priority 2; 2 s; if it fails: the action is blocked")
    assert lines[2].endswith("is ignored")
    listed = json.loads(at_home("hooks", "list", "--json").out)["hooks"]
    assert [each["source"] for each in listed][-1] == "before_compaction.d/ask"


def test_one_hook_is_tried_with_a_sample(at_home: Terminal) -> None:
    """What it would change is printed, and nothing in it steers the terminal; fields of the sample can be set."""
    put(at_home.home.hooks, "rules.py", RULES)
    shown = at_home("hooks", "test", "rules.py:signs", "--payload", '{"text": "tea"}')
    assert shown.status == 0
    assert 'changes  text: "tea\\u001b[2J!"' in shown.out
    trial = json.loads(at_home("hooks", "test", "rules.py:signs", "--json").out)
    assert (trial["event"], trial["failure"]) == ("message_sending", "")
    assert trial["changes"] == {"text": trial["payload"]["text"] + "\x1b[2J!"}
    assert "changes  nothing" in at_home("hooks", "test", "rules.py:looks").out


def test_a_hook_that_fails_its_trial_is_told_with_its_rule(at_home: Terminal) -> None:
    """Exit status 1; nothing of it is counted anywhere."""
    put(at_home.home.hooks, "rules.py", RULES)
    failed = at_home("hooks", "test", "rules.py:fails")
    assert failed.status == 1
    assert "failed   ValueError: returned str, not MessageSending" in failed.out
    assert "rule     the action is blocked" in failed.out


def test_what_cannot_be_tried_is_one_line(at_home: Terminal) -> None:
    """It names what there is."""
    put(at_home.home.hooks, "rules.py", RULES)
    unknown = at_home("hooks", "test", "rules.py:sings")
    assert (unknown.status, unknown.err.count("\n")) == (2, 1)
    assert "rules.py:signs" in unknown.err
    for payload in ("{", "[]", '{"colour": 1}'):
        wrong = at_home("hooks", "test", "rules.py:signs", "--payload", payload)
        assert (wrong.status, "--payload" in wrong.err) == (2, True)
    put(at_home.home.hooks, "rules.py", "def (")
    broken = at_home("hooks", "list")
    assert (broken.status, "rules.py" in broken.err) == (2, True)
