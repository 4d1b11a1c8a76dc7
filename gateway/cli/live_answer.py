"""Shows an answer on a terminal while it is being written."""

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.text import Text

from gateway.cli.markdown import TerminalMarkdown
from gateway.control.stream_wire import ChatSign
from gateway.runtime.escape import visible

REFRESHES_A_SECOND = 12
"""Our choice: smooth for the eye, and cheap over a slow connection."""


def closed_length(markdown: str) -> int:
    """Return the number of characters up to the last empty line outside code: more text changes nothing before it."""
    fence, length, end = "", 0, 0
    for line in markdown.splitlines(keepends=True):
        length += len(line)
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif not bare:
            end = length
    return end


class LiveAnswer:
    """The answer to one message: finished paragraphs are printed, the last one grows in place.

    Use it as a context; nothing is shown in place unless *console* is a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._draft = ""
        """The model's text of this step, with harmless characters."""
        self._printed = 0
        """Number of its characters that are printed for good."""
        self._tool = ""
        self._reason = ""
        self._live = Live(
            get_renderable=self._growing,
            console=console,
            refresh_per_second=REFRESHES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "LiveAnswer":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()
        self._print(self._draft[self._printed :])  # what an answer that was stopped had come to

    @property
    def reason(self) -> str:
        """The reason that the message must wait; empty if it does not."""
        return self._reason

    def sign(self, sign: ChatSign) -> None:
        """Show a sign of the answer."""
        match sign.kind:
            case "draft":
                self._grow(visible(sign.text))
            case "tool":
                self._tool = "" if sign.text.startswith("/") else visible(sign.text)
            case "postponed":
                self._reason = sign.text
                self._console.print(Text(visible(sign.text), style="yellow"))

    def reply(self, text: str, *, is_answer: bool) -> None:
        """Print a delivered message, without the part of it that stands there already."""
        if text == self._reason:
            return
        shown = visible(text)
        if not is_answer:
            self._console.print(Text("(earlier)", style="dim"), TerminalMarkdown(shown))
            return
        printed, self._draft, self._printed = self._draft[: self._printed], "", 0
        self._print(shown[len(printed) :] if shown.startswith(printed) else shown)

    def _grow(self, draft: str) -> None:
        is_first = not self._draft
        if not self._console.is_terminal:
            return
        is_same = draft.startswith(self._draft) or self._draft.startswith(draft)
        if not is_same:  # the next step of the turn: its text begins anew
            self._print(self._draft[self._printed :])
            self._printed = 0
        self._tool, self._draft = "", draft
        if (closed := closed_length(draft)) > self._printed:
            self._print(draft[self._printed : closed])
            self._printed = closed
        if is_first:
            self._live.refresh()

    def _print(self, markdown: str) -> None:
        """Print *markdown* and one empty line, however many its blocks have around them."""
        lines = self._console.render_lines(TerminalMarkdown(markdown), pad=False)
        texts = ["".join(segment.text for segment in line).strip() for line in lines]
        full = [number for number, text in enumerate(texts) if text]
        if full:
            self._console.print(
                Segments([each for line in lines[full[0] : full[-1] + 1] for each in (*line, Segment.line())])
            )

    def _growing(self) -> RenderableType:
        spinner = Spinner("dots", Text(f" {self._tool}" if self._tool else "", style="dim"))
        rest = self._draft[self._printed :]
        return Group(TerminalMarkdown(rest), spinner) if rest.strip() else spinner
