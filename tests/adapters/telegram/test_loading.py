"""What loading Telegram's SDK costs: its models are built when they are used, not all at the start."""

import subprocess
import sys

from tests.fakes.patience import PATIENCE_S

_COUNT = """
import adapters.telegram
from aiogram import methods, types
from pydantic import BaseModel

every = [getattr(types, name) for name in types.__all__] + [getattr(methods, name) for name in methods.__all__]
models = [each for each in every if isinstance(each, type) and issubclass(each, BaseModel)]
built = sum(model.__pydantic_complete__ for model in models)
for model in models:
    model.model_rebuild()
print(built, sum(model.__pydantic_complete__ for model in models), len(models))
"""


def test_few_models_are_built_at_the_start_and_each_can_be() -> None:
    """A start builds the few that every poll and send needs; each of the others is built when it is asked to be."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNT], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    at_start, in_the_end, models = map(int, done.stdout.split())
    assert in_the_end == models > 500
    assert at_start < 20
