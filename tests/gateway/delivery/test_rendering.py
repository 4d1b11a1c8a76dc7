"""No answer freezes the gateway while it is formatted, and none becomes fifty messages."""

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest
from msgspec import structs

from adapters.channel import Adapter, Address, Body
from adapters.formatting.split import plain_parts
from adapters.text import telegram_parts
from gateway.delivery.rendering import ANSWER_CUT, FORMATTING_FAILED, SHORT, WHOLE, Rendering
from gateway.stores.rows import Enclosure, OutboxId, OutboxRow, OutboxState, Outgoing, TurnId
from strandline.testing.adapter import FakeAdapter
from tests.fakes.clock import START
from tests.fakes.media import MediaAdapter


class Formatter(FakeAdapter):
    """A platform whose formatter hangs until it is let go, fails, or works."""

    may_go: threading.Event | None = None
    fault: Exception | None = None
    thread: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begun = threading.Event()

    def render(self, markdown: str) -> Sequence[Body]:
        self.thread = threading.current_thread().name
        if self.fault is not None:
            raise self.fault
        if self.may_go is not None:
            self.begun.set()
            self.may_go.wait(10)
        return plain_parts(markdown, 4_096)


def reply(*files: Enclosure, sent: int = 0) -> OutboxRow:
    """Return a stored reply of which *sent* parts were sent; its text is given beside it."""
    outgoing = Outgoing(Address("fake", "home", "alice"), "", files=files)
    return OutboxRow(OutboxId(9), TurnId("t1"), outgoing, START, OutboxState.QUEUED, sent, 0, None, None)


class Ledger:
    """Counts what is counted."""

    def __init__(self) -> None:
        self.counted: list[str] = []

    async def __call__(self, reason: str) -> None:
        self.counted.append(reason)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def texts(parts: Sequence[object]) -> list[str]:
    return [part.body.text for part in parts]  # type: ignore[attr-defined]  # each is a Part


async def test_a_long_answer_is_formatted_beside_the_event_loop(ledger: Ledger) -> None:
    """While a long answer is formatted, everybody else is served; a short one is not worth a thread."""
    adapter, may_go = Formatter(), threading.Event()
    rendering = Rendering(count=ledger)
    await rendering.parts(adapter, reply(), "short")
    assert adapter.thread == "MainThread"
    adapter.may_go = may_go
    waiting = asyncio.ensure_future(rendering.parts(adapter, reply(), "x" * (SHORT + 1)))
    await asyncio.to_thread(adapter.begun.wait, 10)
    assert adapter.thread.startswith("rendering")
    assert not waiting.done()
    may_go.set()
    assert "".join(texts(await waiting)) == "x" * (SHORT + 1)
    assert ledger.counted == []


async def test_what_takes_too_long_to_format_goes_out_as_it_is(ledger: Ledger) -> None:
    """After the deadline all of the text follows, unformatted, and it is counted."""
    adapter, may_go = Formatter(), threading.Event()
    adapter.may_go = may_go
    rendering = Rendering(deadline_s=0.05, count=ledger)
    try:
        parts = await rendering.parts(adapter, reply(), "**word** " * 1_000)
    finally:
        may_go.set()
    assert "".join(texts(parts)) == "**word** " * 1_000
    assert ledger.counted == [FORMATTING_FAILED]


async def test_a_formatter_that_fails_stops_nothing(ledger: Ledger) -> None:
    """Its fault costs the formatting, not the answer, the captions or the gateway."""
    adapter = Formatter()
    adapter.fault = RecursionError("too deep")
    with pytest.raises(RecursionError):
        adapter.render("x")
    file = Enclosure("main", "k", "notes/plan.md", 3, "the *plan*")
    adapter.fault = None
    before = await Rendering(count=ledger).parts(adapter, reply(file), "**hello**")
    failing = OnlyWords()
    after = await Rendering(count=ledger).parts(failing, reply(file), "**hello**")
    assert texts(before)[0] == texts(after)[0] == "**hello**"
    assert "the *plan*" in "".join(texts(after))
    assert "plan.md" in "".join(texts(after))
    assert ledger.counted == [FORMATTING_FAILED]


class OnlyWords(FakeAdapter):
    """A platform whose formatter fails at every asterisk."""

    def render(self, markdown: str) -> Sequence[Body]:
        if "*" in markdown:
            raise ValueError(markdown)
        return super().render(markdown)


async def test_what_was_sent_before_the_formatting_failed_loses_no_text(ledger: Ledger) -> None:
    """Plain parts are cut elsewhere than formatted ones: all of them follow what was sent, so nothing is missing."""
    failing = OnlyWords()
    parts = await Rendering(count=ledger).parts(failing, reply(sent=2), "**hello**")
    assert texts(parts[2:]) == ["**hello**"]


@pytest.mark.parametrize("adapter", [FakeAdapter(), MediaAdapter()])
async def test_an_answer_of_200000_characters_is_ten_messages_and_a_file(adapter: Adapter, ledger: Ledger) -> None:
    """Up to the limit it is shown; the whole of it is a file where the platform takes one, else a line says so."""
    text = "".join(f"line {number}\n" for number in range(20_000))
    shown = replace_render(adapter)
    parts = await Rendering(count=ledger).parts(shown, reply(), text)
    *head, last = parts
    assert len(head) <= 12
    assert text.startswith("".join(texts(head)).strip())
    assert 39_000 < sum(map(len, texts(head))) <= 40_000
    assert "of 208,890 characters are shown" in last.body.text
    if isinstance(adapter, MediaAdapter):
        assert last.body.upload is not None
        assert (last.body.upload.name, last.body.upload.content) == (WHOLE, text.encode())
    else:
        assert last.body.upload is None
        assert "ask me for the next part" in last.body.text
    assert ledger.counted == [ANSWER_CUT]


def replace_render(adapter: Adapter) -> Adapter:
    """Let *adapter* cut as Telegram does."""
    adapter.render = telegram_parts  # type: ignore[method-assign]
    return adapter


async def test_an_answer_within_the_limit_is_whole() -> None:
    """The limit is a setting; an answer of just that length is not cut."""
    rendering = structs.replace(Rendering(), answer_chars=1_000)
    assert "".join(texts(await rendering.parts(FakeAdapter(), reply(), "y" * 1_000))) == "y" * 1_000
    assert "(The answer is longer" in texts(await rendering.parts(FakeAdapter(), reply(), "y" * 1_001))[-1]


@pytest.mark.parametrize("unit", ["\n", "`", "> ", "||", "[x](", "* a\n", "| a ", "$$", "\\(", "_*"])
def test_the_slowest_answer_within_the_limit_is_formatted_well_before_the_deadline(unit: str) -> None:
    """40,000 characters of any pumped mark-up stay within the deadline, on a busy machine too."""
    begun = time.process_time()
    telegram_parts((unit * 40_000)[:40_000])
    assert time.process_time() - begun < Rendering().deadline_s
