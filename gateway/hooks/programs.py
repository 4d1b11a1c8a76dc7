"""Runs a program as a handler: the payload as JSON on its standard input, changed fields on its output.

The program gets nothing of the gateway's environment: no token, and no path of the owner's.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

from workspaces.records import field_names, with_fields

MOST_BYTES = 4_000_000
"""Longest answer that is read; our choice. A longer one is invalid."""
_SHARE = 0.9
"""Share of the event's deadline that a program has: it is ended before the deadline of its caller."""


class HookProgram(Struct, frozen=True):
    """An executable file in `<home>/hooks/<event>.d/`."""

    path: Path
    event: str
    deadline_s: float

    def __call__(self, payload: Any) -> object:
        """Return *payload* with the program's changes, `None` if it prints nothing.

        Raises TimeoutError past the deadline, and ValueError for a program that fails or does not answer a JSON object.
        """
        told = json.dumps({"event": self.event, "payload": as_json(payload)}, ensure_ascii=False).encode()
        answer = self._answer(told)
        return _parse_answer(payload, answer) if answer.strip() else None

    def _answer(self, told: bytes) -> bytes:
        with subprocess.Popen(  # noqa: S603 - the owner's own file, checked to be writable by nobody else; no shell
            [self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it may quote the payload, which must not be logged
            cwd=self.path.parent,
            env=environment(self.event),
            start_new_session=True,
        ) as process:
            try:
                answer, _ = process.communicate(told, timeout=self.deadline_s * _SHARE)
            except subprocess.TimeoutExpired as exc:
                raise TimeoutError(f"took longer than {self.deadline_s * _SHARE:g} s") from exc
            finally:
                _end(process)
        if process.returncode:
            raise ValueError(f"ended with status {process.returncode}")
        if len(answer) > MOST_BYTES:
            raise ValueError(f"answered more than {MOST_BYTES:,} bytes")
        return answer


def environment(event: str) -> dict[str, str]:
    """Return the complete environment of a program."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "STRANDLINE_EVENT": event}


def as_json(value: object) -> object:
    """Return *value* in a form that JSON can hold: records as objects, without callables."""
    if names := field_names(type(value)):
        named = {name: getattr(value, name) for name in names}
        return {name: as_json(each) for name, each in named.items() if not callable(each)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return value


def _parse_answer(payload: Any, answer: bytes) -> object:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as exc:
        raise ValueError("did not answer with JSON") from exc
    if not isinstance(found, dict):
        raise ValueError("did not answer with a JSON object")
    return changed(payload, found)


def changed(payload: Any, given: Mapping[str, object]) -> Any:
    """Return *payload* with these fields; the event checks their values. Raises ValueError."""
    known = {name: getattr(payload, name) for name in field_names(type(payload))}
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"there is no field {unknown[0]!r}; the fields are: {', '.join(known)}")
    same = {name: known[name] for name, value in given.items() if as_json(known[name]) == value}
    return with_fields(payload, {**given, **same})


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the program and its child processes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
