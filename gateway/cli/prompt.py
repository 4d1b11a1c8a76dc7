"""The prompt of an interactive chat: history, several lines, and completion of commands."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent

from adapters.abilities import MenuEntry
from gateway.home import FILE_MODE
from gateway.settings.key_kinds import key_kind

MARK = "> "


class CommandCompleter(Completer):
    """Completes the command that a message begins with."""

    def __init__(self, entries: Sequence[MenuEntry]) -> None:
        self._entries = entries

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the commands that begin with the text before the cursor."""
        begun = document.text_before_cursor
        for entry in self._entries:
            if begun.startswith("/") and f"/{entry.name}".startswith(begun):
                yield Completion(f"/{entry.name}", -len(begun), display_meta=entry.help)


class ChatPrompt:
    """Asks for messages, as an iterator that ends with Ctrl-D."""

    def __init__(self, history: Path, entries: Sequence[MenuEntry]) -> None:
        """*history* is a file with earlier messages, which only its owner can read; *entries* can be completed."""
        os.close(os.open(history, os.O_CREAT | os.O_WRONLY, FILE_MODE))
        self._session: PromptSession[str] = PromptSession(
            MARK,
            history=FileHistory(history),
            completer=CommandCompleter(entries),
            complete_while_typing=True,
            key_bindings=_line_keys(),
            prompt_continuation="  ",
        )

    def show(self, write: Callable[[], None]) -> None:
        """Have *write* print above the line that is being typed; callable in any thread."""
        app = self._session.app
        try:
            if app.loop is None or app.context is None or not app.is_running:
                write()
            else:
                app.loop.call_soon_threadsafe(run_in_terminal, write, context=app.context)
        except RuntimeError:  # the prompt has just ended, and its loop with it
            write()

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                yield self._session.prompt(multiline=True)
            except EOFError:
                return
            except KeyboardInterrupt:  # the line is dropped, the chat goes on
                continue


def _line_keys() -> KeyBindings:
    """Return the keys of a chat: Enter sends what is no secret, Alt-Enter begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if kind := key_kind(buffer.text):
            buffer.reset()
            told = f"That is a key ({kind}). It was not sent, and is kept nowhere: strandline keys set stores keys."
            run_in_terminal(lambda: print(told))
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
