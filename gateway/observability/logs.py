"""Logging: facts as fields, one line per event, on standard error, without secrets."""

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO

import structlog

from workspaces.secrets import redact

QUIETER = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "uvicorn",
    "aiogram",
    "asyncio",
    "cohere",
    "anthropic",
    "google_genai",
    "watchfiles",
    "discord",
)
"""Libraries whose routine lines would drown ours; only their warnings and errors are logged."""


LARGEST_LOG = 10_000_000
"""Bytes of a log from which on it is rotated; our choice."""


def rotate(file: Path, largest: int = LARGEST_LOG) -> None:
    """Move what *file* holds to `<name>.1` if that is more than *largest* bytes; its writer goes on appending to it."""
    with suppress(OSError):  # there mostly is none
        if file.stat().st_size > largest:
            shutil.copyfile(file, file.with_name(f"{file.name}.1"))
            os.truncate(file, 0)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines without known secrets, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


@contextmanager
def logging_to_stderr(level: str, form: Literal["text", "json"]) -> Iterator[None]:
    """Log events of *level* and above while the block runs; libraries log through the same handler."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper("iso", utc=True),
    ]
    handler = _Handler(sys.stderr)
    handler.setFormatter(_formatter(shared, form))
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in QUIETER:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
        root.removeHandler(handler)
        root.setLevel(before)


def _formatter(shared: list[structlog.typing.Processor], form: str) -> logging.Formatter:
    renderer: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if form == "json":
        renderer += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback
        renderer.append(structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain, pad_event_to=0))
    return structlog.stdlib.ProcessorFormatter(processors=renderer, foreign_pre_chain=shared)
