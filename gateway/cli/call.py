"""One call of a command: its home, the operator there, and its answer as text or JSON."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct

from gateway.cli.invocation import HomeOption, Invocation, JsonOption, plain_fields, print_json
from gateway.home import Home
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from gateway.cli.connect import Reached
    from gateway.control.order import Answer, LongOrder, Order


class Call(Struct, frozen=True):
    """The context and options that all commands share: a function that takes one first has `--home`."""

    context: typer.Context
    home_option: Path | None
    as_json: bool = False

    @property
    def invocation(self) -> Invocation:
        """The start of the program that it belongs to."""
        found: Invocation = self.context.obj
        return found

    @property
    def home(self) -> Home:
        """The home that it uses. Raises ConfigError, as `Invocation.home`."""
        return self.invocation.home(self.home_option)

    @property
    def existing_home(self) -> Home:
        """The same, which has to exist. Raises StrandlineError too."""
        return self.invocation.existing_home(self.home_option)

    def reach(self) -> "AbstractAsyncContextManager[Reached]":
        """Yield the operator of the home, as `connect.reach`; other processes see the command's words as purpose."""
        from gateway.cli.connect import reach

        return reach(self.invocation, self.home, self.context.command_path)

    def ask(self, order: "Order[Answer]") -> "Answer":
        """Return the answer to *order*. Raises the errors of `reach` and of the operator."""

        async def asked() -> "Answer":
            async with self.reach() as reached:
                return await reached.operator.ask(order)

        return asyncio.run(asked())

    def follow(self, title: str, order: "LongOrder", then: "Order[Answer]") -> "tuple[str, Answer]":
        """Execute *order*, showing its progress after *title*; return its outcome, and the answer to *then*."""

        from gateway.cli.progress import progress_bar

        async def followed() -> "tuple[str, Answer]":
            async with self.reach() as reached:
                with progress_bar(title) as progress:
                    outcome = await reached.operator.follow(order, progress)
                return outcome, await reached.operator.ask(then)

        return asyncio.run(followed())


class JsonCall(Call, frozen=True):
    """A call of a command with `--json` besides."""

    def tell(self, order: "Order[Answer]", lines: "Callable[[Answer], Iterable[str]]", none: str = "") -> None:
        """Print the answer to *order* as JSON or as its *lines*; *none* stands for no line at all."""
        answer: Any = self.ask(order)
        self.print(answer, lines(answer), none)

    def print(self, answer: "DataclassInstance | Mapping[str, object]", lines: Iterable[str], none: str = "") -> None:
        """Print *answer* as JSON or as its *lines*; *none* stands for no line at all."""
        if self.as_json:
            print_json(answer if isinstance(answer, Mapping) else plain_fields(answer))
            return
        for line in [*lines] or [none] * bool(none):
            print(visible(line))


def command_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* as typer takes it: if its first parameter is a call, with the call's options behind its own."""
    first, *own = inspect.signature(function, eval_str=True).parameters.values()
    if first.annotation not in {Call, JsonCall}:
        return function
    kind: type[Call] = first.annotation
    added = {"context": Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)}
    added |= {each.name: each.replace(kind=Parameter.KEYWORD_ONLY) for each in own}
    options = {"as_json": JsonOption} if kind is JsonCall else {}
    for name, option in {**options, "home": HomeOption}.items():
        default = None if name == "home" else False
        added[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)

    @wraps(function)
    def command(*, context: typer.Context, home: Path | None, as_json: bool = False, **given: object) -> None:
        function(kind(context, home, as_json), **given)

    vars(command)["__signature__"] = inspect.Signature([*added.values()])
    return command
