"""Detection of a tool call that a model writes into its answer, where its server does not read it as one.

A call in a model's own notation is one by its beginning. A JSON object is one if it ends the answer, names a tool of
the request and gives arguments; one that explains a call in the middle of an answer is text.
"""

import json
from collections.abc import Collection

_NOTATIONS = (
    "<tool_call", "<function_call", "<function=", "<tool_code", "<|tool", "<｜tool", "<|python_tag|>", "[TOOL_CALLS]",
)  # fmt: skip
_CLOSING = ("```", "</tool_call>", "</function_call>", "</tool_code>")
_STARTS = 8
"""Lines that are tried as its beginning, each by reading the rest as JSON. Our choice."""
_NAMES, _ARGUMENTS = ("name", "tool", "function"), ("arguments", "parameters", "args", "input")


def is_written_call(text: str, tools: Collection[str]) -> bool:
    """Tell whether *text*, an answer without a call, is or ends with a call of one of *tools* in words."""
    text = text.strip()
    if text.startswith(_NOTATIONS):
        return True
    last = _without_frame(text)
    return any(_is_call(last[at:], tools) for at in _starts(last)) if last.endswith(("}", "]")) else False


def _without_frame(text: str) -> str:
    """Return *text* without a fence or a closing tag at its end."""
    for mark in _CLOSING:
        text = text.removesuffix(mark).rstrip()
    return text


def _starts(text: str) -> list[int]:
    """Return where a JSON value that ends *text* may begin: the last lines that begin with a bracket, and the first."""
    places = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n")]
    places = [at for at in places if text[at : at + 1] in {"{", "["}]
    return [*places[:1], *places[1:][-_STARTS:]]


def _is_call(text: str, tools: Collection[str]) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    calls = found if isinstance(found, list) else [found]
    return bool(calls) and all(isinstance(each, dict) and _names(each) in tools for each in calls)


def _names(call: dict[str, object]) -> object:
    """Return the name of the tool that *call* gives arguments to; empty if it is no call."""
    inner = call.get("function")
    call = inner if isinstance(inner, dict) else call
    if not any(isinstance(call.get(each), dict | str) for each in _ARGUMENTS):
        return ""
    return next((name for each in _NAMES if isinstance(name := call.get(each), str)), "")
