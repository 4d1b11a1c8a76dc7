"""Tools for subagents."""

import pytest

from gateway.agent.tools.spawn import name_part


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("helper", "helper"),
        ("Invoice_check 2", "invoice-check-2"),
        ("müller", "m-ller"),
        ("../x", "x"),
        ("税務", "helper"),
        ("", "helper"),
        ("a-" * 40, "a-a-a-a-a-a-a-a-a-a-a-a"),
    ],
)
def test_any_name_begins_an_id(name: str, expected: str) -> None:
    """A model that chose an unfit name is not refused."""
    assert name_part(name) == expected
