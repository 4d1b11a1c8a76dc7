from pathlib import Path
from typing import get_type_hints

from gateway.control.operator_api import LocalApi
from gateway.control.order import Order, answer_of, path_of
from tests.fakes.operator import FakeOperator
from tests.journeys.house import make_home, running


async def test_each_order_is_answered_by_a_function_of_its_types(tmp_path: Path) -> None:
    """The table pairs every kind with a function that takes it and returns its answer, at a path of its own."""
    kinds = {kind.__name__ for kind in Order.__subclasses__() if kind.__module__.startswith("gateway.")}
    async with running(make_home(tmp_path / "home")) as app:
        operators: tuple[LocalApi, ...] = (app.operator, FakeOperator())
        for answers in (operator.answers for operator in operators):
            assert {kind.__name__ for kind in answers} == kinds
            assert len({path_of(kind) for kind in answers}) == len(answers)
            for kind, function in answers.items():
                hints = get_type_hints(function)
                assert (hints.pop("return"), *hints.values()) == (answer_of(kind), kind)
