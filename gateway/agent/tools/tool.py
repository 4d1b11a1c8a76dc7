"""This file turns functions into tools: a tool closes over what it needs, so that no argument can widen it."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from types import CodeType
from typing import ParamSpec, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from gateway.agent.entries import ResultEntry, ToolCall
from gateway.agent.models.port import ToolSpec
from gateway.errors import ToolError
from workspaces.errors import WorkspaceError

RESULT_CAP = 16_000
"""Longest tool result, in characters, that reaches the model (the reference system's cap for small windows)."""


P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """Runs blocking work on the one thread of a workspace and returns its result."""

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class _Untitled(GenerateJsonSchema):
    """Leaves out the `title` that pydantic writes beside every field: tokens that tell a model nothing."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call."""

    spec: ToolSpec
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[str]]
    is_offered: bool = True
    """A tool that is not offered works for a model that calls it all the same: another name of one that is."""


def tool(function: Callable[..., Awaitable[str]]) -> Tool:
    """Make a tool of *function*: name and parameters from its signature, description from its docstring.

    Parameters are keyword-able and annotated, with `Annotated[..., Field(description=...)]` where the name does not
    say enough.
    """
    shape = _SHAPES.get(function.__code__)
    if shape is None:
        shape = _SHAPES[function.__code__] = _shape_of(function)
    return Tool(*shape, function)


_SHAPES: dict[CodeType, tuple[ToolSpec, type[BaseModel]]] = {}
"""What was read off each function; tools are made anew for every turn, and reading one takes a millisecond."""


def _shape_of(function: Callable[..., Awaitable[str]]) -> tuple[ToolSpec, type[BaseModel]]:
    fields: dict[str, object] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)
    arguments = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
    schema = arguments.model_json_schema(schema_generator=_Untitled)
    schema.pop("title", None)
    return ToolSpec(function.__name__, inspect.getdoc(function) or "", schema), arguments


class Toolbox:
    """The tools of one turn."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {each.spec.name: each for each in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(each.spec for each in self._tools.values() if each.is_offered)

    async def call(self, call: ToolCall) -> ResultEntry:
        """Run *call*; a failure is a result that says what was wrong, so that the model can mend it."""
        try:
            text, is_error = await self._run(call), False
        except (ToolError, WorkspaceError) as refusal:
            text, is_error = str(refusal), True
        return ResultEntry(call.id, call.name, _cap(text), is_error)

    async def _run(self, call: ToolCall) -> str:
        found = self._tools.get(call.name)
        if found is None:
            raise ToolError(f"there is no tool {call.name!r}; the tools are: {', '.join(sorted(self._tools))}")
        try:
            arguments = found.arguments.model_validate_json(call.arguments or "{}")
        except ValidationError as exc:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in exc.errors())
            raise ToolError(f"{call.name}: {problems}") from exc
        return await found.run(**{name: getattr(arguments, name) for name in type(arguments).model_fields})


def _cap(text: str) -> str:
    if len(text) <= RESULT_CAP:
        return text
    return f"{text[:RESULT_CAP]}\n[cut: {len(text) - RESULT_CAP:,} more characters; ask for a smaller part]"


__all__ = ["Field", "Run", "Tool", "Toolbox", "tool"]
