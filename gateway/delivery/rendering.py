"""Rendering of replies into platform messages: bounded, off the event loop, plain text when formatting fails."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import structlog
from msgspec import Struct, field

from adapters.abilities import LinksFiles, SendsFiles
from adapters.channel import Adapter, Body, Upload
from adapters.formatting.split import cut_at, plain_parts
from gateway.admission.internal_channels import CHANNELS
from gateway.delivery.outgoing_files import Enclosures, MessagePart, file_parts
from gateway.runtime.threads import Threads
from gateway.runtime.work_journal import WorkJournal
from gateway.stores.rows import Enclosure, OutboxRow

log = structlog.get_logger()

ANSWER_CUT = "answer_cut"
"""Counted for each reply that is longer than `limits.answer_chars`."""
FORMATTING_FAILED = "formatting_failed"
"""Counted for each reply that went out as plain text, since its formatting failed or took too long."""
SHORT = 4_000
"""Characters of the longest reply that is formatted on the event loop; for these a thread costs more than it saves."""
PLAIN_UNITS = 2_000
"""Length of a plain part in UTF-16 units: every platform takes it (Discord's limit)."""
WHOLE = "answer.md"

Count = Callable[[str], Awaitable[None]]


async def _uncounted(_: str) -> None:
    return


class Rendering(Struct, frozen=True):
    """Makes messages of replies, within limits."""

    answer_chars: int = 40_000
    """Longest text of one reply, in characters: about ten messages of Telegram. Our choice."""
    deadline_s: float = 5.0
    """Seconds for the formatting of one reply; the slowest input known takes 1 s for 40,000 characters. Our choice."""
    count: Count = _uncounted
    journal: WorkJournal | None = None
    enclosures: Enclosures | None = None
    """Storage of the replies' files; given if there may be any."""
    threads: Threads = field(default_factory=lambda: Threads("rendering", 2))

    async def parts(self, adapter: Adapter, row: OutboxRow, text: str) -> list[MessagePart]:
        """Return the messages of the reply in *row*, with *text* as its content; its first `parts_sent` messages were
        sent.

        A text over `answer_chars` is cut: its end goes out as a file, or a notice says where it can be read. If the
        formatting fails or takes longer than `deadline_s`, the whole text follows, unformatted.
        """
        with self.journal.finishing(f"reply {row.id}") if self.journal else nullcontext():
            return await self._parts(adapter, text, row.outgoing.files, row.parts_sent)

    async def loaded(self, part: MessagePart) -> Body:
        """Return the body of *part*, with the content of its file."""
        return part.body if self.enclosures is None else await self.enclosures.loaded(part)

    async def release(self, files: Iterable[Enclosure]) -> None:
        """Remove the contents of *files*: their reply was delivered, or given up."""
        if self.enclosures is not None:
            await self.enclosures.release(files)

    async def _parts(
        self, adapter: Adapter, text: str, files: Sequence[Enclosure], parts_sent: int
    ) -> list[MessagePart]:
        shown, rest = self._bounded_parts(adapter, text)
        if rest and not parts_sent:
            await self.count(ANSWER_CUT)
        try:
            async with asyncio.timeout(self.deadline_s):
                return await self._formatted(adapter, shown, rest, files)
        except Exception as exc:  # noqa: BLE001  # a formatter's fault must not stop the delivery of every chat
            log.error("reply not formatted", channel=adapter.channel, why=type(exc).__name__)
            await self.count(FORMATTING_FAILED)
        sent = [MessagePart(Body(""))] * parts_sent
        texts = [shown, *(file.caption for file in files)]
        plain = [MessagePart(body) for each in texts for body in plain_parts(each, PLAIN_UNITS)]
        return [*sent, *plain, *rest, *file_parts(adapter, [replace(file, caption="") for file in files])]

    async def _formatted(
        self, adapter: Adapter, shown: str, rest: Iterable[MessagePart], files: Sequence[Enclosure]
    ) -> list[MessagePart]:
        def formatted() -> list[MessagePart]:
            texts = [*map(MessagePart, adapter.render(shown)), *rest]
            if isinstance(adapter, LinksFiles):
                return texts or [MessagePart(Body(""))]
            return [*texts, *file_parts(adapter, files)]

        is_short = len(shown) + sum(len(file.caption) for file in files) <= SHORT
        return formatted() if is_short else await self.threads(formatted)

    def _bounded_parts(self, adapter: Adapter, text: str) -> tuple[str, list[MessagePart]]:
        """Return the part of *text* that is shown, and the messages that tell of the rest."""
        if len(text) <= self.answer_chars or adapter.channel in CHANNELS:
            return text, []
        shown = text[: cut_at(text, 0, self.answer_chars)]
        notice = f"(The answer is longer: {len(shown):,} of {len(text):,} characters are shown. "
        if isinstance(adapter, SendsFiles):
            whole = text.encode("utf-8", "replace")
            if len(whole) <= adapter.upload_limit:
                return shown, [MessagePart(Body(f"{notice}The file contains all of it.)", upload=Upload(WHOLE, whole)))]
        return shown, [MessagePart(Body(f"{notice}The conversation contains all of it: ask me for the next part.)"))]
