from collections.abc import Callable

import pytest

from gateway.agent.models.choose import LazyModel, SharedByModels, provider_faults
from gateway.agent.models.fallback import FallbackModel
from gateway.agent.models.port import Model, ModelRequest
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.errors import ModelRefusedError, ModelUnavailableError
from gateway.plugins import MODELS, plugins
from tests.fakes.model import ScriptedModel
from tests.fakes.packages import Install

ENTRY = "[strandline.models]\nfog = fog_model:Fog\n"
CODE = """
from strandline.models import Finish, ModelRefusedError, TextPiece

class Fog:
    def __init__(self, settings):
        self.settings = settings

    async def stream(self, request, temperature, seen):
        yield TextPiece(f"{self.settings.model} ")
        yield TextPiece("lifts")
        yield Finish("stop")

    async def close(self):
        pass
"""
REQUEST = ModelRequest("", (), ())


async def draft(_: str) -> None:
    """Show nothing."""


async def reply(*others: Model) -> str:
    """Return the answer of the package's model, with *others* as its fallbacks."""
    fog = LazyModel(HostedSettings("fog", "grey", name="fog"), SharedByModels(), Retry(tries=1))
    chain = FallbackModel([fog, *others])
    try:
        return (await chain.reply(REQUEST, draft)).text
    finally:
        await chain.close()


def test_every_provider_of_our_own_can_be_loaded() -> None:
    """By the names that configurations use."""
    ours = [plugin for plugin in plugins(MODELS).values() if plugin.is_built_in]
    assert {plugin.name for plugin in ours} == {"anthropic", "cohere", "google", "openai"}
    assert all(hasattr(plugin.load(), "stream") for plugin in ours)


async def test_a_packages_model_answers(install: Install) -> None:
    """It is made of the model's settings."""
    install("fog-model", ENTRY, CODE)
    assert await reply() == "grey lifts"
    assert provider_faults({"fog"}) == []


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda code: "import not_there", ModelRefusedError, "cannot be loaded: ModuleNotFoundError"),
        (lambda code: "Fog = 3", ModelRefusedError, "cannot be loaded: it is not a function and no class"),
        (lambda code: code.replace("= settings", "= 1 / 0"), ModelRefusedError, "cannot open models.fog: ZeroDivision"),
        (lambda code: code.replace('"lifts"', "1 / 0"), ModelUnavailableError, "failed in stream(): ZeroDivision"),
        (lambda code: code.replace("TextPiece(", "str("), ModelUnavailableError, "it yields str, which is no piece"),
        (lambda code: code.replace('TextPiece("lifts")', "exit(3)"), ModelUnavailableError, "stream(): SystemExit: 3"),
    ],
)
async def test_a_packages_model_that_fails_is_one_sentence_and_others_answer(
    install: Install,
    change: Callable[[str], str],
    error: type[Exception],
    said: str,
) -> None:
    """Whatever its code raises, and whenever, names the package and the remedy; a fallback model takes over."""
    install("fog-model", ENTRY, change(CODE))
    with pytest.raises(error) as caught:
        await reply()
    sentence = str(caught.value)
    assert sentence.startswith('fog-model: the entry point "fog" of strandline.models (fog_model:Fog) ')
    assert said in sentence
    assert sentence.endswith("update the package, or: pip uninstall fog-model")
    assert await reply(ScriptedModel("whole")) == "whole"


async def test_an_error_of_the_contract_stays_what_it_is(install: Install) -> None:
    """A package says itself whether another attempt is worth it."""
    install("fog-model", ENTRY, CODE.replace('yield TextPiece("lifts")', "raise ModelRefusedError('too dense')"))
    with pytest.raises(ModelRefusedError, match=r"^too dense"):
        await reply()


def test_only_providers_in_use_are_imported(install: Install) -> None:
    """A package for another model costs nothing, and its fault is nobody's; two of one name are told of."""
    install("fog-model", ENTRY, "import not_there")
    assert provider_faults({"openai"}) == []
    assert "No module named 'not_there'" in provider_faults({"fog"})[0]
    install("mist-model", ENTRY.replace("fog_model", "mist_model"), CODE)
    (clash,) = provider_faults(set())
    assert clash.startswith("fog-model, mist-model: ")
