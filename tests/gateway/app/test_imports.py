"""What a start imports and compiles."""

import subprocess
import sys


def test_a_start_compiles_no_pattern_for_times_or_questions() -> None:
    """These are the largest, 20 ms together, and are compiled with the first sentence that may need them."""
    code = """
import sys, gateway.cli.up, gateway.app.app
from workspaces.memory.text.question_forms import asking
print("gateway.schedule.named_time" in sys.modules, asking.cache_info().currsize)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "0"]
