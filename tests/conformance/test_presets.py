"""The presets do what they say in a running gateway: the order, the thresholds and the tools of a search."""

from pathlib import Path

import pytest

from gateway.config.presets import PRESETS
from gateway.config.reading import parse_config
from gateway.config.schema import Config
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder
from gateway.errors import ConfigError
from gateway.home import Home
from tests.conformance.statements import settings
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import make_home, openai_section, running


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_changes_the_defaults_alone(preset: str) -> None:
    """Whatever the file says besides wins."""
    plain = settings(preset).memory
    assert all(getattr(plain, key) == value for key, value in PRESETS[preset].items())
    other = parse_config(
        f'[memory]\npreset = "{preset}"\nfile_chars = 777\nvector_weight = 0.5\nhide_tools = []', Path("c")
    )
    assert (other.memory.file_chars, other.memory.vector_weight, other.memory.hide_tools) == (777, 0.5, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("vector_weight = 0.7", "need each other"),
        ("vector_weight = 0\nkeyword_weight = 0", "not both be 0"),
        ("max_results = 51", "max_results"),
        ('hide_tools = ["x y"]', "hide_tools"),
        ('preset = "open-claw"', "'openclaw'"),
    ],
)
def test_settings_that_contradict_each_other_are_named(text: str, told: str) -> None:
    """In one line with the setting."""
    with pytest.raises(ConfigError, match=told):
        parse_config(f"[memory]\n{text}", Path("config.toml"))


def home_with(path: Path, model: str, text: str) -> Home:
    home = make_home(path, model=openai_section(model))
    home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n[memory]\n{text}\n")
    notes = "\n".join(f"- The boat number {number} lies in the harbour." for number in range(12))
    (home.agent("main").workspace / "MEMORY.md").write_text(f"# Memory\n\n{notes}\n- The heron sleeps.\n", "utf-8")
    return home


async def offered(tmp_path: Path, preset: str) -> set[str]:
    """Return the names of the tools that a model is offered with *preset*."""
    async with OpenAIStub(lambda _: "Well.") as model:
        home = home_with(tmp_path / preset, model.url, f'preset = "{preset}"')
        async with running(home) as app:
            await app.operator.chat(ChatOrder("hello"), lambda *_: done())
        return {each["function"]["name"] for each in model.bodies[-1]["tools"]}


async def done() -> None:
    """Ignore an answer."""


async def test_tools_are_offered_and_hidden_by_the_preset(tmp_path: Path) -> None:
    """What a preset hides still answers when it is called, as what is not offered always does."""
    standard, openclaw, oneclaw = [await offered(tmp_path, each) for each in ("standard", "openclaw", "oneclaw")]
    assert standard - openclaw == {"save_memory", "update_memory", "search_history"}
    assert openclaw - standard == set()
    assert oneclaw - standard == {"search_memory"}
    assert {"memory_search", "memory_get", "write_file", "edit_file", "add_note"} <= openclaw


async def test_a_search_takes_the_numbers_of_the_settings(tmp_path: Path) -> None:
    """The number of results and the threshold, where the query does not say."""
    async with OpenAIStub(lambda _: "Well.") as model:
        for text, found in (("max_results = 3", 3), ("max_results = 8", 8), ("min_score = 1.0", 0)):
            home = home_with(tmp_path / f"home{found}", model.url, text)
            async with running(home) as app:
                answer = await app.operator.ask(SearchOrder("Which boats lie in the harbour?"))
                assert len(answer.hits) == found
                assert len((await app.operator.ask(SearchOrder("boat", max_results=2))).hits) <= 2


def test_the_presets_are_settings() -> None:
    """Each of their keys is one of `[memory]`."""
    known = set(type(Config().memory).__dataclass_fields__)
    assert all(set(preset) <= known for preset in PRESETS.values())
