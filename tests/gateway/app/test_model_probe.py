"""The models that a server of OpenAI's protocol offers, and the trouble that this meets."""

from pathlib import Path

import pytest

from gateway.app.model_probe import offered_models
from gateway.cli.model_setup import _choose
from gateway.config import Config
from gateway.config.reading import parse_config
from gateway.errors import ConfigError, ModelUnavailableError
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import openai_section


def config(url: str, provider: str = "openai") -> Config:
    text = f'[agents.main]\nmodel = "stub"\n[models.stub]\n{openai_section(url)}\n'
    return parse_config(text.replace('provider = "openai"', f'provider = "{provider}"'), Path("config.toml"))


async def test_a_server_tells_its_models() -> None:
    """One without a list, and another provider's, tell none; without a server there is a failure."""
    async with OpenAIStub(lambda _: "") as stub:
        assert await offered_models("stub", config(stub.url), {"MODEL_KEY": "k"}) == []
        stub.models = ("b", "a", " ")
        assert await offered_models("stub", config(stub.url), {"MODEL_KEY": "k"}) == ["b", "a"]
        assert await offered_models("stub", config(stub.url, "cohere"), {"MODEL_KEY": "k"}) == []
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await offered_models("stub", config("http://127.0.0.1:9/v1"), {"MODEL_KEY": "k"})


def test_where_nobody_can_be_asked_several_models_are_a_mistake() -> None:
    """The message names them, at most twenty; the usual one is taken where it is offered."""
    assert _choose(["only"], "usual", asks=False) == "only"
    assert _choose([], "usual", asks=False) == "usual"
    assert _choose(["a", "usual"], "usual", asks=False) == "usual"
    with pytest.raises(ConfigError, match=r"name one with --model: m0, m1, .*, m19 and 2 more$"):
        _choose([f"m{number}" for number in range(22)], "usual", asks=False)
