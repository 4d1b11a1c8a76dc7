"""How models are chosen, stand in for each other, and load when they are first asked."""

import subprocess
import sys
from typing import Literal

import pytest

from gateway.agent.models.choose import LazyModel, SharedByModels, choose
from gateway.agent.models.fallback import FallbackModel
from gateway.agent.models.offline import OfflineModel
from gateway.agent.models.port import Model, ModelRequest
from gateway.agent.models.settings import HostedSettings
from gateway.errors import ConfigError, ModelError, ModelOverflowError, ModelRefusedError, ModelUnavailableError
from tests.fakes.model import ScriptedModel
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import steps

REQUEST = ModelRequest("s", (), ())


async def quiet(_: str) -> None:
    """Drop a draft."""


async def ask(model: Model) -> str:
    reply = await model.reply(REQUEST, quiet)
    return f"{reply.model}: {reply.text}"


@pytest.mark.parametrize("failure", [ModelUnavailableError("down"), ModelRefusedError("bad key")])
async def test_the_next_model_answers_where_one_cannot(failure: ModelError) -> None:
    """The reply names the model that gave it."""
    chain = FallbackModel([ScriptedModel(failure, name="first"), ScriptedModel("here", name="second")])
    assert await ask(chain) == "second: here"


async def test_an_overflow_is_no_reason_to_ask_another() -> None:
    """A request that is too large is mended by compaction, not by a second bill."""
    second = ScriptedModel("never")
    with pytest.raises(ModelOverflowError):
        await ask(FallbackModel([ScriptedModel(ModelOverflowError("large")), second]))
    assert second.requests == []


async def test_when_none_can_answer_the_error_says_whether_waiting_helps() -> None:
    """One model that may come back makes the chain one that may come back."""
    refused, down = ModelRefusedError("bad key"), ModelUnavailableError("down", 5.0)
    with pytest.raises(ModelUnavailableError, match="down"):
        await ask(FallbackModel([ScriptedModel(refused), ScriptedModel(down)]))
    with pytest.raises(ModelRefusedError):
        await ask(FallbackModel([ScriptedModel(refused), ScriptedModel(refused)]))


async def test_a_draft_of_a_model_that_broke_is_not_continued_by_the_next() -> None:
    """Half a text of one model and half of another are no draft."""
    drafts: list[str] = []

    class Breaking(ScriptedModel):
        async def reply(self, request, on_text):  # type: ignore[no-untyped-def] # the port's own signature
            await on_text("half")
            raise ModelUnavailableError("broke")

    async def draft(text: str) -> None:
        drafts.append(text)

    reply = await FallbackModel([Breaking(), ScriptedModel("whole")]).reply(REQUEST, draft)
    assert reply.text == "whole"
    assert drafts == ["half"]


async def test_a_chain_has_the_smallest_window_and_closes_all() -> None:
    """A request that fits the chain fits each of its models."""
    first, second = ScriptedModel(), OfflineModel()
    chain = FallbackModel([first, second])
    assert chain.window_tokens == second.window_tokens
    await chain.close()
    assert first.closed


def test_names_become_models() -> None:
    """One name is that model, several are a chain, `offline` needs no settings, others must be known."""
    hosted = {"big": HostedSettings("cohere", "command-a-03-2025", name="big")}
    assert isinstance(choose(["offline"], hosted), OfflineModel)
    assert isinstance(choose(["big"], hosted), LazyModel)
    assert isinstance(choose(["big", "offline"], hosted), FallbackModel)
    with pytest.raises(ConfigError, match=r"\[models.small\]"):
        choose(["small"], hosted)


@pytest.mark.parametrize(("provider", "module"), [("anthropic", "anthropic"), ("google", "google.genai")])
def test_a_model_whose_client_is_not_installed_says_what_installs_it(
    provider: Literal["anthropic", "google"], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start, in one line, and not in the first turn."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"models\.a: .*-m pip install '{module.replace('.', '-')}"):
        choose(["a"], {"a": HostedSettings(provider, "m", name="a")})


async def test_a_lazy_model_answers_when_it_is_asked() -> None:
    """The first request loads the SDK; closing one that was never asked does nothing."""
    async with OpenAIStub(steps("one", "two")) as stub:
        model = LazyModel(HostedSettings("openai", "stub", name="big", base_url=stub.url), SharedByModels())
        assert await model.load() is await model.load()
        assert await ask(model) == "big: one"
        await model.close()
    await LazyModel(HostedSettings("openai", "stub", name="big"), SharedByModels()).close()


def test_clients_are_loaded_ahead_of_the_first_request() -> None:
    """Those of the providers that agents ask first, and no other: the first answer then takes a fifth of the time.

    Where none is asked, nothing is loaded; for OpenAI's protocol no SDK and no HTTP client but ours, and of that of
    SDKs no command, which loads colours.
    """
    code = """
import asyncio, sys
from gateway.agent.models.choose import load_clients
asyncio.run(load_clients(()))
print("httpx2" in sys.modules)
asyncio.run(load_clients({"openai"}))
print([name for name in ("cohere", "openai", "anthropic", "google.genai", "httpx") if name in sys.modules])
print("gateway.agent.models.openai" in sys.modules)
print("gateway.agent.models.hosted" in sys.modules)
asyncio.run(load_clients({"cohere"}))
print("httpx" in sys.modules, "httpx._main" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:5] == ["False", "[]", "True", "True", "True False"]


def test_choosing_a_model_loads_no_sdk() -> None:
    """Start pays for no provider: their SDKs come with the first request."""
    code = """
import sys
from gateway.agent.models.choose import choose
from gateway.agent.models.settings import HostedSettings
choose(["a", "offline"], {"a": HostedSettings("cohere", "m", name="a")})
choose(["a"], {"a": HostedSettings("anthropic", "m", name="a")})
choose(["a"], {"a": HostedSettings("google", "m", name="a")})
print([name for name in ("cohere", "openai", "anthropic", "google.genai", "httpx", "httpx2") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
