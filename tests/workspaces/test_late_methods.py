import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, field, replace
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter

from workspaces.late_methods import LATE, compile_late

LATER = not hasattr(dataclasses, "_create_fn")


@pytest.fixture
def late() -> Iterator[None]:
    """Dataclasses that a test defines compile their methods late."""
    before = vars(dataclasses).get("_create_fn")
    compile_late()
    yield
    if before is not None:
        dataclasses._create_fn = before  # type: ignore[attr-defined]


def classes() -> tuple[Any, Any]:
    """Return a class and one that inherits from it, defined now, as if in a package of ours."""
    module = sys.modules.setdefault("gateway.made_up", ModuleType("gateway.made_up"))
    space = vars(module) | {"dataclass": dataclass, "field": field}
    text = (
        "@dataclass(frozen=True, slots=True, order=True)\nclass Place:\n    'A place.'\n"
        "    name: str\n    tags: list[str] = field(default_factory=list)\n    self_: int = 3\n"
        "@dataclass(frozen=True, slots=True)\nclass Town(Place):\n    'A town.'\n    people: int = 0\n"
        "    def __post_init__(self):\n        object.__setattr__(self, 'people', self.people + 1)\n"
    )
    exec(text, space)
    return space["Place"], space["Town"]


@pytest.mark.usefixtures("late")
def test_a_class_with_late_methods_is_like_any_other() -> None:
    """Made, compared, ordered, shown, hashed, copied, frozen, inherited and validated."""
    place, town = classes()
    assert place("a", ["x"]) == place(name="a", tags=["x"]) != place("b")
    assert place("a") < place("b")
    assert place("a") != town("a")
    assert repr(place("a", ["x"])) == "Place(name='a', tags=['x'], self_=3)"
    assert replace(town("a", people=4), name="b") == town("b", people=5)
    assert place("a").tags is not place("a").tags
    assert len({town("a", (), people=2), town("a", (), people=2)}) == 1
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        place("a").name = "b"
    with pytest.raises(FrozenInstanceError):
        del place("a").name
    with pytest.raises(TypeError, match=r"Place\.__init__\(\) missing 1 required positional argument: 'name'"):
        place()
    assert TypeAdapter(town).validate_python({"name": "a", "people": 2}) == town("a", people=2)
    match town("a"):
        case place(name):
            assert name == "a"


@pytest.mark.skipif(LATER, reason="this Python compiles all methods of a class together")
@pytest.mark.usefixtures("late")
def test_a_method_is_compiled_once_and_then_stands_in_its_class() -> None:
    """No later call goes through anything that Python itself would not have put there."""
    place, town = classes()
    first = place.__init__
    town("a")
    assert place.__init__ is first
    place("a")
    place("b")
    assert place.__init__ is not first
    assert place.__init__.__code__.co_varnames[:2] == ("self", "name")
    assert place.__init__.__qualname__ == "Place.__init__"


@pytest.mark.usefixtures("late")
def test_strangers_classes_are_made_as_python_makes_them() -> None:
    """Somebody may ask for the signature of one."""

    @dataclass
    class Mine:
        name: str

    assert __name__.partition(".")[0] not in LATE
    assert Mine.__init__.__code__.co_varnames == ("self", "name")


@pytest.mark.skipif(LATER, reason="this Python compiles all methods of a class together")
def test_a_command_compiles_few_methods() -> None:
    """Of the five hundred classes that a gateway loads, most methods are never called."""
    code = (
        "import dataclasses, sys\nmade, compiled = [], dataclasses._create_fn\n"
        "def counted(name, *rest, **named):\n    made.append(name)\n    return compiled(name, *rest, **named)\n"
        "dataclasses._create_fn = counted\n"
        "sys.argv = ['strandline', '--version']\nfrom gateway.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "made.clear()\nimport gateway.app.app, gateway.cli.up\nprint(len(made))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout.split()[-1]) < 400
