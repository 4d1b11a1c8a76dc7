from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from adapters.abilities import MenuEntry
from gateway.cli.prompt import ChatPrompt, CommandCompleter

ENTRIES = (MenuEntry("new", "", "start a new conversation", False), MenuEntry("notes", "", "list notes", False))


def typed(keys: str, history: Path) -> list[str]:
    """Return the messages that *keys* make at the prompt."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(keys)
        return list(ChatPrompt(history, ENTRIES))


def test_enter_sends_and_alt_enter_begins_a_line(tmp_path: Path) -> None:
    """One message may have several lines; Ctrl-D ends the chat."""
    assert typed("one\x1b\rtwo\rthree\r\x04", tmp_path / "history") == ["one\ntwo", "three"]


def test_a_key_is_not_sent_and_leaves_no_trace(tmp_path: Path) -> None:
    """The owner meant another prompt; neither a model nor the history gets it."""
    key = "sk-ant-api03-canary0123456789"
    assert typed(f"{key}\rhello\r\x04", tmp_path / "history") == ["hello"]
    assert key not in (tmp_path / "history").read_text("utf-8")


def test_ctrl_c_drops_the_line_and_the_chat_goes_on(tmp_path: Path) -> None:
    """Nobody loses a conversation by it."""
    assert typed("half a th\x03hello\r\x04", tmp_path / "history") == ["hello"]


def test_what_was_said_comes_back_by_the_arrow_key_and_is_private(tmp_path: Path) -> None:
    """The history outlives the process, in a file that only its owner reads."""
    history = tmp_path / "history"
    typed("the first\r\x04", history)
    assert typed("\x1b[A\r\x04", history) == ["the first"]
    assert history.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("begun", "names"), [("/n", ["/new", "/notes"]), ("/ne", ["/new"]), ("n", []), ("say /n", [])])
def test_a_command_is_completed_where_it_begins_the_message(begun: str, names: list[str]) -> None:
    """A slash elsewhere is text."""
    found = CommandCompleter(ENTRIES).get_completions(Document(begun), CompleteEvent())
    assert [each.text for each in found] == names
