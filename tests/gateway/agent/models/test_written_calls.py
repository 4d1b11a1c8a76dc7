"""A tool call in words is known, whatever else an answer holds, in little time."""

import time

from gateway.agent.models.written_calls import is_written_call

CALL = '{"name": "add_note", "arguments": {"text": "%s"}}'


def test_a_long_call_is_one() -> None:
    """As one that writes a file."""
    assert is_written_call(f"I note it.\n{CALL % ('a' * 100_000)}", {"add_note"})


def test_many_brackets_take_no_time() -> None:
    """Each line that begins with one could begin the value that ends the answer."""
    text = ("[" + "1," * 2_000 + "\n") * 400 + "]"
    began = time.process_time()
    assert not is_written_call(text, {"add_note"})
    assert time.process_time() - began < 0.5
