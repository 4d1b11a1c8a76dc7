"""What the owner sets about prompts arrives where prompts are made."""

from gateway.agents import turn_settings
from gateway.config import Config
from workspaces.bootstrap import Limits


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
