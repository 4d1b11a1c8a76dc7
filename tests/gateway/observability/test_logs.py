import json
import logging
from pathlib import Path

import pytest
import structlog

from gateway.observability.logs import logging_to_stderr, rotate
from workspaces.secrets import REMOVED, guarding

CANARY = 'bot12345:AA"canary'


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_holds_a_secret(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Fields, a library's own lines and the text of a traceback all pass the redactor."""
    with logging_to_stderr("info", "json" if form == "json" else "text"), guarding([CANARY]):
        structlog.get_logger("gateway.test").info("sent", url=CANARY)
        logging.getLogger("some.library").warning("asked %s", CANARY)
        try:
            raise ValueError(CANARY)
        except ValueError:
            structlog.get_logger("gateway.test").exception("failed")
    lines = capsys.readouterr().err
    assert lines.count(REMOVED) >= 3
    assert "canary" not in lines


def test_json_lines_carry_facts_as_fields(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line: the event, the level, the time in UTC, what is bound, and nothing below the level."""
    with logging_to_stderr("info", "json"), structlog.contextvars.bound_contextvars(agent="main"):
        structlog.get_logger("gateway.test").info("accepted", channel="telegram")
        structlog.get_logger("gateway.test").debug("detail")
        for library in ("httpx", "httpx2"):
            logging.getLogger(library).info("a library's chatter")
    [line] = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["agent"]) == ("accepted", "info", "main")
    assert event["channel"] == "telegram"
    assert event["timestamp"].endswith("Z")


def test_logging_ends_with_its_block(capsys: pytest.CaptureFixture[str]) -> None:
    """A second gateway in one process does not write each line twice."""
    for _ in range(2):
        with logging_to_stderr("info", "json"):
            structlog.get_logger().info("once")
    assert capsys.readouterr().err.count("once") == 2


def test_a_log_that_nobody_rotates_stays_small(tmp_path: Path) -> None:
    """What it held stands beside it, and its writer, which has it open, goes on at its beginning."""
    file = tmp_path / "service.log"
    rotate(file)
    with file.open("ab", buffering=0) as writer:
        writer.write(b"one\n")
        rotate(file, 4)
        assert file.read_bytes() == b"one\n"
        writer.write(b"two\n")
        rotate(file, 4)
        writer.write(b"three\n")
    assert file.read_bytes() == b"three\n"
    assert (tmp_path / "service.log.1").read_bytes() == b"one\ntwo\n"
