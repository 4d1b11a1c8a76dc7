"""Turns functions into tools: a tool closes over its resources, so that no argument can widen its access."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from types import CodeType

from msgspec import Struct, structs
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from gateway.agent.entries import ResultEntry, ToolAct, ToolActKind, ToolCall
from gateway.agent.models.port import ToolSpec
from gateway.agent.write_policy import is_others_place
from gateway.errors import ToolError
from gateway.observability.spans import span
from workspaces.access import Access, SessionType, rights
from workspaces.errors import EditError, FileChangedError, NotDurableError, UnusableError, WorkspaceError
from workspaces.house import has_tag
from workspaces.paths import clean_path
from workspaces.secrets import redact

RESULT_CAP = 16_000
"""Longest tool result, in characters, that reaches the model (the reference system's cap for small windows)."""


_CHECKED = frozenset({"default", "minimum", "maximum", "minLength", "maxLength"})


class _Short(GenerateJsonSchema):
    """Drops parts of a schema that a call is checked by and a model hardly reads: every request pays for them."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        found = super().generate(schema, mode)
        shared = {name: _without(each, {"title", "description"}) for name, each in found.pop("$defs", {}).items()}
        found["properties"] = {name: _shortened(each, shared) for name, each in found["properties"].items()}
        rest = {"$defs": shared} if "$ref" in json.dumps(found) else {}
        return _without(found, {"title", "additionalProperties"}) | rest


def _shortened(schema: JsonSchemaValue, shared: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
    """Return the *schema* of an argument; the choices that it names in *shared* stand in it."""
    named = shared.get(schema.get("$ref", "").removeprefix("#/$defs/"), {})
    return _without(named | _without(schema, {"$ref"}) if "enum" in named else schema, _CHECKED)


def _without(schema: JsonSchemaValue, keys: Set[str]) -> JsonSchemaValue:
    return {key: value for key, value in schema.items() if key not in keys}


class FromOutside(Struct, frozen=True):
    """A result that others than the owner wrote, or may have written: the turn that reads it is trusted less."""

    text: str


class ActedResult(Struct, frozen=True):
    """A result of a tool that acted."""

    said: str | FromOutside
    acts: tuple[ToolAct, ...]


Told = str | FromOutside | ActedResult
"""The result of a tool."""


class Tool(Struct, frozen=True):
    """A function that a model may call."""

    spec: ToolSpec
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[Told]]
    is_offered: bool = True
    """A tool that is not offered still works for a model that calls it: an alias of one that is."""
    sends: bool = True
    """By a call, text may leave the turn other than by its answer."""
    check: Callable[..., Awaitable[None]] | None = None
    """Raises ToolError or WorkspaceError for arguments with which a call fails: then nobody is asked to approve it."""
    is_here: bool = True
    """Its arguments go to no program that runs, or may pass them on, elsewhere."""
    sessions: frozenset[SessionType] = frozenset({SessionType.MAIN})
    """Of a package's tool, the sessions that have it: unless it says otherwise, the owner's direct chat alone."""


def told(text: str, *, from_outside: bool) -> Told:
    """Return *text* as a tool result."""
    return FromOutside(text) if from_outside else text


def done(said: str | FromOutside, kind: ToolActKind, about: object = "", line: str = "") -> ActedResult:
    return ActedResult(said, (ToolAct(kind, str(about), line),))


def tool(function: Callable[..., Awaitable[Told]], *, sends: bool = False) -> Tool:
    """Make a tool of *function*: name and parameters from its signature, description from its docstring.

    Parameters can be passed by keyword and are annotated, with `Annotated[..., Field(description=...)]` where the name
    is not clear enough.
    """
    shape = _SHAPES.get(function.__code__)
    if shape is None:
        shape = _SHAPES[function.__code__] = _shape_of(function)
    return Tool(*shape, function, sends=sends)


def unoffered(function: Callable[..., Awaitable[Told]]) -> Tool:
    """Make a tool that no request lists: it works for a model that calls it, as an older name of another one."""
    return structs.replace(tool(function, sends=False), is_offered=False)


_SHAPES: dict[CodeType, tuple[ToolSpec, type[BaseModel]]] = {}
"""The specification of each function; tools are made anew for every turn, and inspecting one takes a millisecond."""


def _shape_of(function: Callable[..., Awaitable[Told]]) -> tuple[ToolSpec, type[BaseModel]]:
    fields: dict[str, object] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)
    config = ConfigDict(extra="forbid", cache_strings="keys")  # arguments hardly ever repeat, so values are not cached
    arguments = create_model(function.__name__, __config__=config, **fields)  # type: ignore[call-overload]
    schema = arguments.model_json_schema(schema_generator=_Short)
    return ToolSpec(function.__name__, inspect.getdoc(function) or "", schema), arguments


Around = Callable[[ToolCall, Callable[[ToolCall], Awaitable[ResultEntry]]], Awaitable[ResultEntry]]
"""Called with a call and a function that runs one; returns the result that the model sees."""


AskToCall = Callable[[ToolCall], Awaitable[ActedResult | None]]
"""Returns the result of a call that waits for the owner; `None` if it may be made."""


class Toolbox:
    """The tools of one turn."""

    def __init__(
        self,
        tools: Iterable[Tool],
        access: Access,
        heard: Callable[[ResultEntry], None] | None = None,
        holds_others: Callable[[str], bool] = lambda _: False,
        ask: AskToCall | None = None,
        has_read_house: Callable[[], bool] = lambda: False,
    ) -> None:
        """*heard* is called with each result before the model sees it.

        *ask* is asked before a tool that sends.

        *has_read_house* tells whether the model has seen text that stays on the owner's machines.

        *holds_others* tells whether a line of a text is one of the files' that hold others' words.
        """
        self._tools = {each.spec.name: each for each in tools}
        self._is_private = rights(access).private
        self._heard = heard
        self._holds_others = holds_others
        self._ask = ask
        self._has_read_house = has_read_house
        self._around: Around | None = None
        self._room: int | None = None

    def wrap(self, around: Around) -> None:
        """Call *around* with every call from now on."""
        self._around = around

    def fit(self, characters: int) -> None:
        """Describe the tools in short if whole descriptions take more than so many *characters*."""
        self._room = characters

    def add(self, tools: Iterable[Tool]) -> None:
        """Add *tools* to those offered; a name that is there keeps its tool."""
        for each in tools:
            self._tools.setdefault(each.spec.name, each)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The offered tools as the model sees them."""
        specs = tuple(each.spec for each in self._tools.values() if each.is_offered)
        is_short = self._room is not None and sum(each.characters for each in specs) > self._room
        return tuple(each.shortened for each in specs) if is_short else specs

    async def call(self, call: ToolCall) -> ResultEntry:
        """Run *call*; a failure is a result that describes the fault, so that the model can correct it."""
        return await (self._call_tool(call) if self._around is None else self._around(call, self._call_tool))

    async def _call_tool(self, call: ToolCall) -> ResultEntry:
        name = call.name if call.name in self._tools else "unknown"
        with span(f"tool {name}") as found:
            output, is_error = await self._outcome(call)
            found.set_attribute("strandline.failed", is_error)
        said, acts = (output.said, output.acts) if isinstance(output, ActedResult) else (output, ())
        whole = redact(said.text if isinstance(said, FromOutside) else said)
        is_marked = isinstance(said, FromOutside) or _names_others_place(call)
        is_marked = is_marked or self._is_others(shown_lines(whole))
        is_house = self._has_read_house() or has_tag(whole)
        result = ResultEntry(call.id, call.name, _cap(whole), is_error, is_marked, acts, is_house)
        if self._heard is not None:
            self._heard(result)
        return result

    async def _outcome(self, call: ToolCall) -> tuple[Told, bool]:
        try:
            return await self._run(call), False
        except UnusableError as trouble:
            said = str(trouble) if self._is_private else trouble.told_to_others
            return (done(said, "unsure", call.name) if isinstance(trouble, NotDurableError) else said), True
        except EditError as refusal:  # it quotes lines, shortened and numbered
            return told(str(refusal), from_outside=self._is_others("\n".join(refusal.shown))), True
        except FileChangedError as refusal:  # it shows parts of lines
            now = (refusal.current or b"").decode(errors="replace")
            return told(str(refusal), from_outside=self._is_others(now)), True
        except (ToolError, WorkspaceError) as refusal:
            return str(refusal), True

    def _is_others(self, text: str) -> bool:
        return self._is_private and self._holds_others(text)

    async def _run(self, call: ToolCall) -> Told:
        found = self._tools.get(call.name)
        if found is None:
            raise ToolError(
                f"there is no tool {call.name!r}; the tools are: {', '.join(sorted(each.name for each in self.specs))}"
            )
        try:
            arguments = found.arguments.model_validate_json(call.arguments or "{}")
        except ValidationError as exc:
            names = found.arguments.model_fields
            problems = "; ".join(_problem(each, names) for each in exc.errors())
            raise ToolError(f"{call.name}: {problems}") from exc
        if not found.is_here and self._has_read_house():
            raise ToolError(f"{call.name} may pass on its arguments, and you have read text marked house: not called")
        values = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        if found.sends and self._ask is not None:
            if found.check is not None:
                await found.check(**values)
            if (waits := await self._ask(call)) is not None:
                return waits
        return await found.run(**values)


def _problem(error: ErrorDetails, names: Iterable[str]) -> str:
    """Return which argument is wrong, and what is expected; *names* are those that the tool has."""
    where = ".".join(map(str, error["loc"])) or "arguments"
    match error["type"]:
        case "missing":
            return f"{where}: missing"
        case "extra_forbidden":
            return f"{where}: there is no such argument, only {', '.join(names) or 'none'}"
        case kind if kind.startswith("date_"):
            return f"{where}: write a day such as 2026-12-03"
        case _:
            return f"{where}: {error['msg']}"


class _PathArgument(BaseModel):
    """The argument that names a file or folder of the workspace, in every tool that has one."""

    path: str


def _names_others_place(call: ToolCall) -> bool:
    """Return whether *call* concerns a location where others write: any result, an error too, may then be theirs."""
    try:
        return is_others_place(clean_path(_PathArgument.model_validate_json(call.arguments).path))
    except (ValidationError, WorkspaceError):
        return False


def shown_lines(text: str) -> str:
    """Return the lines of *text* that may reach a model in a result, the last one whole: looking at all takes long."""
    end = text.find("\n", RESULT_CAP)
    return text if end < 0 else text[:end]


def _cap(text: str) -> str:
    if len(text) <= RESULT_CAP:
        return text
    return f"{text[:RESULT_CAP]}\n[cut: {len(text) - RESULT_CAP:,} more characters; ask for a smaller part]"
