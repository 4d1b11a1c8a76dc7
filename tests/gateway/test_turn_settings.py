"""What the owner sets about prompts and files arrives where prompts are made and files are written."""

from pathlib import Path

import pytest

from gateway.agents import file_caps, turn_settings
from gateway.config import Config, LimitSettings
from tests.journeys.house import make_home, running
from tests.workspaces.turns import MAIN
from workspaces.bootstrap import Limits
from workspaces.errors import TooLargeError
from workspaces.files import DEFAULT_CAPS


def test_every_length_of_the_prompt_can_be_set() -> None:
    """Each key of `[memory]` that limits files reaches the limit of its name, and nothing else."""
    chars = {
        "file_chars": 601,
        "total_chars": 1_002,
        "today_chars": 3,
        "yesterday_chars": 4,
        "memory_share_chars": 5,
        "file_share_chars": 6,
    }
    config = Config.model_validate({"memory": chars | {"daily_notes_in_prompt": False, "preset": "oneclaw"}})
    assert turn_settings(config).bootstrap == Limits(**chars, daily_notes=False, oneclaw=True)


def test_the_defaults_are_the_same_in_both_places() -> None:
    """Who sets nothing gets what the bootstrap files' own limits say."""
    assert turn_settings(Config()).bootstrap == Limits()
    assert file_caps(LimitSettings()) == DEFAULT_CAPS


async def test_the_quotas_of_a_workspace_can_be_set(tmp_path: Path) -> None:
    """The agent's own workspace refuses what is over the configured number, and names the setting."""
    home = make_home(tmp_path / "home")
    text = home.config_file.read_text("utf-8")
    home.config_file.write_text(f"{text}\n[limits]\nworkspace_files = 20\n", "utf-8")
    for number in range(20):
        (home.agent("main").workspace / f"{number}.md").write_text("x", "utf-8")
    async with running(home) as app:
        workspace = app.desk.agents[app.desk.default_agent].workspace
        with pytest.raises(TooLargeError, match=r"20 files .* workspace_files in \[limits\]"):
            workspace.write("new.md", "x", MAIN, None)
