"""`memory checkup` prints what the operator answers, for people and for machines."""

import json

from tests.gateway.cli.terminal import Terminal


def test_a_check_up_prints_its_proposals_with_their_differences(at_home: Terminal) -> None:
    """As text, of one kind, and as JSON; the last line says how to decide."""
    shown = at_home("memory", "checkup").out
    assert shown.startswith("nothing is wrong\n")
    assert "1a2b3c4d  double  MEMORY.md#L3: it says what MEMORY.md#L2 says\n    -- Ann lives\n" in shown
    assert "Nothing was changed." in shown
    assert at_home("memory", "checkup", "--kind", "stale").out == "nothing is wrong\n"
    [proposal] = json.loads(at_home("memory", "checkup", "--json").out)["proposals"]
    assert (proposal["mark"], proposal["state"]) == ("1a2b3c4d", "open")


def test_decisions_name_their_proposals(at_home: Terminal) -> None:
    """Several at once for some; a missing mark is wrong usage."""
    for act in ("accept", "refuse"):
        assert at_home("memory", "checkup", act, "1a2b3c4d", "5e6f7a8b").out == "1a2b3c4d 5e6f7a8b\n"
        assert at_home("memory", "checkup", act).status == 2
    assert at_home("memory", "checkup", "edit", "1a2b3c4d", "Ann moved").out == "1a2b3c4d\n"
    assert at_home("memory", "checkup", "undo", "1a2b3c4d").out == "1a2b3c4d\n"
