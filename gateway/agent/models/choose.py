"""Creates models from settings; heavy libraries load once the gateway is ready, or at the first request."""

import asyncio
import gc
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from msgspec import Struct, field

from gateway.agent.entries import OFFLINE, ReplyEntry
from gateway.agent.models.failures import ModelTroubles, describe_failure
from gateway.agent.models.fallback import FallbackModel
from gateway.agent.models.image_budget import ImageBudget
from gateway.agent.models.offline import OfflineModel
from gateway.agent.models.optional_packages import missing_extra
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.errors import ConfigError, ModelFault, ModelRefusedError, ModelUnavailableError, PluginError
from gateway.plugins import MODELS, plugins
from gateway.runtime.imports import without
from workspaces.access import Locality


class SharedByModels(Struct, frozen=True):
    """The parts that all models of a gateway share."""

    room: ImageBudget = field(default_factory=ImageBudget)
    """Of the pictures that they are shown."""
    troubles: ModelTroubles = field(default_factory=ModelTroubles)


def choose(names: Sequence[str], hosted: Mapping[str, HostedSettings], shared: SharedByModels | None = None) -> Model:
    """Return the model called `names[0]`, with the others as its fallbacks; `offline` needs no settings.

    Raises ConfigError for an unknown name, and for a model whose client is not installed.
    """
    shared = shared or SharedByModels()
    models = [_model(name, hosted, shared, is_fallback=place > 0) for place, name in enumerate(names)]
    return models[0] if len(models) == 1 else FallbackModel(models)


def _model(name: str, hosted: Mapping[str, HostedSettings], shared: SharedByModels, *, is_fallback: bool) -> Model:
    if name == OFFLINE:
        return OfflineModel(stands_in=is_fallback)
    if name not in hosted:
        raise ConfigError(f"there is no model {name!r}; add a section [models.{name}], or use {OFFLINE!r}")
    if install := missing_extra(hosted[name].provider):
        raise ConfigError(f"models.{name}: the package for it is missing; run: {install}")
    return LazyModel(hosted[name], shared)


def provider_faults(used: Collection[str]) -> list[str]:
    """Return a sentence for each claimed name, and for each package's provider among *used* that cannot be loaded."""
    faults = []
    for name, plugin in plugins(MODELS).items():
        try:
            if name in used and not plugin.is_built_in:  # our own would load its SDK
                plugin.load()
        except PluginError as exc:
            faults.append(str(exc))
        else:
            faults += [plugin.clash] if plugin.clash else []
    return faults


async def load_clients(providers: Iterable[str]) -> None:
    """Import the clients of these *providers* with their SDKs, on a thread: nobody's first answer then waits for that.

    A package's client is left to its first request.
    """
    if not (used := list(providers)):
        return
    with without("httpx._main"):  # of SDKs' HTTP client: a command, with rich: 30 ms of the processor and 3 MB
        for name in used:
            if plugins(MODELS)[name].is_built_in:
                await asyncio.to_thread(plugins(MODELS)[name].load)
    await asyncio.to_thread(import_module, "gateway.agent.models.hosted")
    gc.freeze()  # loaded libraries stay: scanning them took 0.2 s at every full collection


class LazyModel:
    """A hosted model whose client is made at its first request, and its SDK loaded by then."""

    def __init__(self, settings: HostedSettings, shared: SharedByModels, retry: Retry | None = None) -> None:
        self.name = settings.name
        self._shared = shared
        self._retry = retry or Retry()
        self.window_tokens = settings.window
        self.reader = Locality.HERE if settings.is_here else Locality.ELSEWHERE
        self._settings = settings
        self._loading = asyncio.Lock()
        self._model: Model | None = None

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*, as far as the model may know it.

        Raises ModelError, after bounded retries, when there is no usable reply.
        """
        request = request.shown_to(self.reader)
        try:
            reply = await (await self.load()).reply(request, on_text)
        except (ModelRefusedError, ModelUnavailableError) as failure:
            told = describe_failure(failure, self._settings)
            failure.add_note(told)
            self._shared.troubles.note(self.name, told)
            raise
        self._shared.troubles.clear(self.name)
        return replace(reply, is_house=self.reader is Locality.HERE and request.is_house)

    async def load(self) -> Model:
        """Load the SDK on a thread, so that other conversations continue; later calls return the same model.

        Raises ModelRefusedError for a missing key, and for a package's provider that cannot be loaded.
        """
        if self._settings.fault:
            raise ModelRefusedError(f"{self.name}: {self._settings.fault}", ModelFault.MISSING)
        async with self._loading:
            if self._model is None:
                try:
                    self._model = await asyncio.to_thread(_build, self._settings, self._retry, self._shared.room)
                except PluginError as exc:
                    raise ModelRefusedError(str(exc)) from exc
                gc.freeze()  # loaded libraries stay: scanning them took 0.2 s at every full collection
            return self._model

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()


def _build(settings: HostedSettings, retry: Retry, room: ImageBudget) -> Model:
    from gateway.agent.models.hosted import HostedModel

    return HostedModel(settings, retry, room)
