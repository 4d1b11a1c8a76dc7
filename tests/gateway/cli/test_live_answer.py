import io

from rich.console import Console

from gateway.cli.live_answer import LiveAnswer, closed_length
from gateway.control.stream_wire import ChatSign
from tests.fakes.screen import on_screen

ANSWER = "Two steps:\n\n1. soak\n2. cook\n\n```\nboil()\n\nserve()\n```\n\nEnjoy."


def shown(*events: ChatSign | str, is_terminal: bool = True) -> str:
    """Return what stays on a screen after *events*: signs, and the text of replies."""
    console = Console(file=(out := io.StringIO()), force_terminal=is_terminal, width=60, color_system=None)
    with LiveAnswer(console) as answer:
        for event in events:
            if isinstance(event, ChatSign):
                answer.sign(event)
            else:
                answer.reply(event, is_answer=True)
    return on_screen(out.getvalue(), 60)


def drafts(text: str) -> list[ChatSign]:
    return [ChatSign("draft", text[:end]) for end in range(1, len(text) + 1)]


def test_text_is_closed_at_an_empty_line_outside_code() -> None:
    """What is printed for good never changes when more text comes."""
    closed = {ANSWER[: closed_length(ANSWER[:end])] for end in range(len(ANSWER) + 1)}
    code = ANSWER.index("```")
    assert closed == {"", ANSWER[:12], ANSWER[:code], ANSWER[: ANSWER.index("Enjoy")]}
    assert closed_length("````\n```\n\n````\n\n") == len("````\n```\n\n````\n\n")


def test_each_word_of_a_streamed_answer_stands_once_on_the_screen() -> None:
    """Growing text and the delivered answer are the same text, not two."""
    screen = shown(*drafts(ANSWER), ANSWER)
    for word in ("Two steps", "soak", "cook", "boil()", "serve()", "Enjoy."):
        assert screen.count(word) == 1, screen


def test_the_text_before_a_tool_call_stays_and_the_answer_follows() -> None:
    """A model that writes, calls a tool and writes again is shown with both texts, in order."""
    screen = shown(
        *drafts("Let me look."),
        ChatSign("tool", "memory_search"),
        *drafts("Port 5433.\n\nSure."),
        "Port 5433.\n\nSure.",
    )
    assert [screen.count(each) for each in ("Let me look.", "Port 5433.", "Sure.")] == [1, 1, 1]
    assert screen.index("Let me look.") < screen.index("Port 5433.")


def test_an_answer_that_is_not_the_draft_is_printed_whole() -> None:
    """A hook may have changed the text: what was delivered is what counts."""
    assert "Something else.\n\nAll of it." in shown(*drafts("Port 5433.\n\nSure"), "Something else.\n\nAll of it.")


def test_a_wide_table_loses_no_letter() -> None:
    """Long words in narrow columns are broken, not cut off."""
    words = ["strandline.memory.text", "0123456789abcdefghijklmnopqrstuvwxyz", "https://host.example/a/long/path"]
    table = f"| a | b | c |\n|---|---|---|\n| {' | '.join(words)} |"
    screen = shown(table)
    assert "…" not in screen
    assert all(screen.count(letter) >= 1 for letter in "0123456789")
    assert sum(map(str.isalnum, screen)) == 3 + sum(character.isalnum() for word in words for character in word)


def test_a_pipe_gets_the_answer_alone() -> None:
    """Without a terminal nothing moves: no draft, no spinner, no tool."""
    assert shown(*drafts(ANSWER), ChatSign("tool", "memory_search"), "Port **5433**.", is_terminal=False).split() == [
        "Port",
        "5433.",
    ]


def test_nothing_steers_the_terminal_while_it_grows() -> None:
    """A draft is no more trusted than the answer."""
    assert "\x1b]52" not in shown(*drafts("look \x1b]52;c;cm0=\x07\n\nhere"), ChatSign("tool", "\x1b]52;c;x\x07"))


def test_a_reason_to_wait_is_shown_once() -> None:
    """The notice that is delivered for it says the same."""
    assert shown(ChatSign("postponed", "The model is away."), "The model is away.").count("away") == 1
