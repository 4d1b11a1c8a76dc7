"""Lazy construction of the Telegram SDK's models: saves most of its import time, and 80 MB."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import get_annotations
from typing import Any

from pydantic import BaseModel

_SDK = "aiogram.types."
_WORD = re.compile(r"\w+")


@contextmanager
def building_late() -> Iterator[None]:
    """Defer building each model that the SDK defines within the block until its first use.

    Its types request that by `defer_build`, and its methods are made to. The SDK builds all types at the end of its
    import nevertheless, because they name each other in modules that do not import each other. Here these names are put
    into the modules instead, where pydantic looks for them when it builds a model by itself.
    """
    asked: list[tuple[type[BaseModel], Mapping[str, Any]]] = []
    usual = BaseModel.__dict__["model_rebuild"]

    def note(cls: type[BaseModel], /, **options: Any) -> bool | None:
        names = options.get("_types_namespace")
        if names is not None and cls.__module__.startswith(_SDK):
            asked.append((cls, names))
            return None
        above = options.pop("_parent_namespace_depth", 2) + 1  # the caller is one frame further away
        result: bool | None = usual.__get__(None, cls)(_parent_namespace_depth=above, **options)
        return result

    BaseModel.model_config["defer_build"] = True
    BaseModel.model_rebuild = classmethod(note)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
        BaseModel.model_rebuild = usual  # type: ignore[method-assign]
    for cls, names in asked:
        _make_known(cls, names)


def _make_known(cls: type[BaseModel], names: Mapping[str, Any]) -> None:
    """Put *names* into the module of *cls* if a field of it, own or inherited, is declared with them."""
    home = vars(sys.modules[cls.__module__])
    ours = [base for base in cls.__mro__ if base.__module__.startswith(_SDK)]
    declared = [each for base in ours for each in get_annotations(base).values()]
    for name in {word for each in declared for word in _WORD.findall(str(each))} & names.keys():
        home.setdefault(name, names[name])


with building_late():
    import aiogram  # noqa: F401
