"""What the owner sets about prompts and files arrives where prompts are made and files are written."""

from dataclasses import asdict, fields
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.agent.window.settings import ContextSettings
from gateway.app.agents import hosted_settings, turn_settings
from gateway.config import Config
from gateway.config.reading import fields_of, parse_config
from gateway.errors import ConfigError
from gateway.turns.planning import TurnSettings
from tests.journeys.house import make_home, running
from tests.workspaces.turns import MAIN
from workspaces.errors import TooLargeError
from workspaces.prompt_limits import Limits


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
    limits = Limits(**chars, daily_notes_in_prompt=False, preset="oneclaw")
    assert {each.name: getattr(turn_settings(config).bootstrap, each.name) for each in fields(Limits)} == asdict(limits)


def test_jobs_may_remember() -> None:
    """They do not unless it is set."""
    assert not turn_settings(Config()).jobs_remember
    assert turn_settings(Config.model_validate({"schedule": {"remembers": True}})).jobs_remember


def test_every_setting_of_the_context_arrives() -> None:
    """Each key of `[context]` reaches what it is about, and nothing else."""
    settings = turn_settings(
        Config.model_validate(
            {
                "context": {
                    "prune_ttl_s": 60,
                    "prune_only": ["read_*"],
                    "prune_never": ["read_file"],
                    "trim_share": 0.1,
                    "clear_share": 0.2,
                    "least_cleared_chars": 3,
                    "long_chars": 500,
                    "head_chars": 5,
                    "tail_chars": 6,
                    "whole_turns": 7,
                    "compact": False,
                    "reserve_tokens": 8,
                    "flush_tokens": 9,
                    "share": 0.7,
                    "kept_tokens": 10,
                    "flush": False,
                    "flush_prompt": "Save.",
                    "flush_steps": 11,
                    "flush_temperature": 1.2,
                }
            }
        )
    )
    assert settings.context == ContextSettings(
        prune_ttl_s=60,
        prune_only=("read_*",),
        prune_never=("read_file",),
        trim_share=0.1,
        clear_share=0.2,
        least_cleared_chars=3,
        long_chars=500,
        head_chars=5,
        tail_chars=6,
        whole_turns=7,
        compact=False,
        reserve_tokens=8,
        flush_tokens=9,
        share=0.7,
        kept_tokens=10,
        flush=False,
        flush_prompt="Save.",
        flush_steps=11,
        flush_temperature=1.2,
    )


def test_trimming_can_be_off_and_oneclaw_counts_by_share() -> None:
    """A share that is set wins over the preset's."""

    def made(**tables: dict[str, object]) -> TurnSettings:
        return turn_settings(Config.model_validate(tables))

    assert made(context={"prune": "off"}).context.cache_ttl is None
    assert made(memory={"preset": "oneclaw"}).context.share == 0.8
    assert made(memory={"preset": "oneclaw"}, context={"share": 0.6}).context.share == 0.6


def test_the_ends_of_a_long_result_are_shorter_than_it() -> None:
    """Else trimming would make it longer."""
    with pytest.raises(ValidationError, match="less than long_chars"):
        Config.model_validate({"context": {"long_chars": 2_000}})


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ({}, 128_000),
        ({"base_url": "http://127.0.0.1:1/v1"}, 32_000),
        ({"base_url": "http://127.0.0.1:1/v1", "window_tokens": 8_000}, 8_000),
    ],
)
def test_the_window_of_a_model_is_as_set_or_safe_to_assume(model: dict[str, object], window: int) -> None:
    """A server of one's own is often started with a small one."""
    section = {"provider": "openai", "model": "m", "api_key_env": "MODEL_KEY", **model}
    config = Config.model_validate({"models": {"m": section}})
    assert hosted_settings("m", config, {"MODEL_KEY": "k"}).window == window


async def test_the_quotas_of_a_workspace_can_be_set(tmp_path: Path) -> None:
    """The agent's own workspace refuses what is over the configured number, and names the setting."""
    home = make_home(tmp_path / "home")
    text = home.config_file.read_text("utf-8")
    home.config_file.write_text(f"{text}\n[limits]\nworkspace_files = 20\n", "utf-8")
    for number in range(20):
        (home.agent("main").workspace / f"{number}.md").write_text("x", "utf-8")
    async with running(home) as app:
        workspace = app.operator.agents.named(None).workspace
        with pytest.raises(TooLargeError, match=r"20 files.* workspace_files in \[limits\]"):
            workspace.write("new.md", "x", MAIN, None)


def test_every_table_refuses_a_key_that_it_does_not_know(tmp_path: Path) -> None:
    """A room's own table refuses as the configuration's do, names the nearest key, and takes no number for a table."""
    file = tmp_path / "config.toml"
    for table in (name for name, field in Config.model_fields.items() if fields_of(field.annotation)):
        if table == "channels":
            continue  # its tables are the plug-ins'
        with pytest.raises(ConfigError, match=rf"^{file}: {table}\.nonsense: unknown key; (did you mean|known here)"):
            parse_config(f"[{table}]\nnonsense = 1\n", file)
        with pytest.raises(ConfigError, match=rf"^{file}: {table}: must be a table$"):
            parse_config(f"{table} = 1\n", file)
    with pytest.raises(ConfigError, match=r"queue\.debounc_ms: unknown key; did you mean debounce_ms\?"):
        parse_config("[queue]\ndebounc_ms = 1\n", file)
    with pytest.raises(ConfigError, match=r"queue\.mode: must be 'follow_up', 'collect', 'steer' or 'interrupt'"):
        parse_config('[queue]\nmode = "both"\n', file)
