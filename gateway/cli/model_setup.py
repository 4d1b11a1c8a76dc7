"""Connects a language model: its key, one real call as proof, and its table in the configuration."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from gateway.cli.invocation import Invocation, config_of
from gateway.cli.keys import ask, ask_one_of, ask_secret
from gateway.cli.scaffold import MODELS, PROVIDERS, UsualModel
from gateway.cli.settings_report import print_taken_up
from gateway.errors import ConfigError, ModelError, ModelFault
from gateway.home import Home
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.config import Config

MOST_NAMED = 20
"""Models of a server that a question lists; each other one may be answered too."""
TRIES = 3
"""Keys that are asked for in a row."""


class ModelWish(Struct, frozen=True):
    """The answers that were given as options; `None`: ask, or use what is usual."""

    provider: str | None = None
    model: str | None = None
    name: str | None = None
    base_url: str | None = None
    agent: str | None = None


def connect_model(invocation: Invocation, home: Home, wish: ModelWish) -> None:
    """Ask for what *wish* leaves open, prove that the model answers, and write it. Raises StrandlineError."""
    usual = usual_model(wish.provider or _ask_provider(invocation, home, "openai" if wish.base_url else ""))
    for line in write_model(invocation, home, usual, wish):
        print(visible(line))
    print_taken_up(invocation, home)


def write_model(
    invocation: Invocation, home: Home, usual: UsualModel, wish: ModelWish, *, asks: bool = True
) -> list[str]:
    """Write the model of *wish* once it has answered; return what was done. Raises ConfigError, ModelError.

    Unless it *asks*, a server with several models must offer the usual one.
    """
    from gateway.config.changes import set_secret, set_values
    from gateway.observability.logs import logging_to_stderr

    name, known = wish.name or usual.provider, invocation.environ_of(home)
    values = _values(config_of(home), name, usual, wish)
    for attempt in range(1, TRIES + 1):
        key = "" if usual.variable in known and attempt == 1 else _ask_key(invocation, usual, wish)
        environ = {**known, usual.variable: key} if key else dict(known)
        if not environ.get(usual.variable):
            values = {path: value for path, value in values.items() if path[-1] != "api_key_env"}
        try:
            with logging_to_stderr("error", "text"):
                if not wish.model and wish.base_url is not None:
                    offered = asyncio.run(_offered(home, name, values, environ))
                    wish = structs.replace(wish, model=_choose(offered, usual.model, asks=asks))
                    values["models", name, "model"] = wish.model
                told = asyncio.run(_prove(home, name, values, environ))
        except ModelError as exc:
            print(visible(f"  it does not answer: {_cause(exc, name, wish)}"))
            if attempt == TRIES or not _may_ask_again(usual, environ):
                raise ConfigError(f"models.{name} does not answer, so nothing was written") from exc
            continue
        if key:
            set_secret(home, usual.variable, key)
        set_values(home, values)
        return [told, f"Wrote [models.{name}] in {home.config_file}."]
    raise ConfigError(f"models.{name} does not answer, so nothing was written")


def _cause(exc: ModelError, name: str, wish: ModelWish) -> str:
    """Return why the model did not answer; for a server that cannot be reached, its address and what to do."""
    if exc.fault is ModelFault.ADDRESS and wish.base_url is not None:
        return f"nothing answers at {wish.base_url}. Start that server (Ollama: ollama serve), or correct --base-url"
    return str(exc).removeprefix(f"{name}: ")


async def _prove(home: Home, name: str, values: Mapping[tuple[str, ...], object], environ: Mapping[str, str]) -> str:
    from gateway.app.model_probe import probe_model
    from gateway.config.changes import config_with

    config = config_with(home, values)
    print(f"Asking {config.models[name].model} for one word …")
    proof = await probe_model(name, config, environ)
    return f'{config.models[name].model} answered "{proof.text}" in {proof.seconds:.1f} s.'


async def _offered(
    home: Home, name: str, values: Mapping[tuple[str, ...], object], environ: Mapping[str, str]
) -> Sequence[str]:
    from gateway.app.model_probe import offered_models
    from gateway.config.changes import config_with

    return await offered_models(name, config_with(home, values), environ)


def _choose(names: Sequence[str], usual: str, *, asks: bool) -> str:
    """Return one of the model *names* that a server offers. Raises ConfigError if nobody can be asked."""
    if len(names) == 1:
        return names[0]
    some = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    if not (asks and sys.stdin.isatty()):
        if names and usual not in names:
            raise ConfigError(f"the server offers several models; name one with --model: {visible(some)}")
        return usual
    if not names:
        return ask("Name of the model at that server", usual)
    default = usual if usual in names else next((each for each in names if "embed" not in each), names[0])
    question = f"Model, one of {visible(some)}"
    return ask(question, default, lambda answer: "" if answer in names else question)


def _values(config: "Config", name: str, usual: UsualModel, wish: ModelWish) -> dict[tuple[str, ...], object]:
    table = ("models", name)
    values: dict[tuple[str, ...], object] = {
        (*table, "provider"): usual.provider,
        (*table, "model"): wish.model or usual.model,
    }
    if wish.base_url is not None:
        values[*table, "base_url"] = wish.base_url
    values[*table, "api_key_env"] = usual.variable
    return values | {("agents", wish.agent or config.default_agent, "model"): name}


def usual_model(provider: str) -> UsualModel:
    """Return what is usual for *provider*. Raises ConfigError for an unknown one."""
    found = next((each for each in MODELS if each.provider == provider), None)
    if found is None:
        raise ConfigError(f"{provider!r} is no provider; one of {', '.join(each.provider for each in MODELS)}")
    return found


def _ask_provider(invocation: Invocation, home: Home, likely: str) -> str:
    """Return the provider; the default is the *likely* one, else one whose key is known."""
    environ = invocation.environ_of(home)
    known = next((each.provider for each in MODELS if environ.get(each.variable, "").strip()), "")
    choices = [each for each in PROVIDERS if each != "offline"]
    return ask_one_of(choices, "Provider", likely or known or choices[0])


def _ask_key(invocation: Invocation, usual: UsualModel, wish: ModelWish) -> str:
    """Return a pasted key, redacted from all output from now on; empty if none is needed. Raises ConfigError."""
    from gateway.settings.key_kinds import KIND_OF_PROVIDER, misplaced
    from gateway.settings.secrets_file import checked_secret
    from workspaces.secrets import guarding

    is_own = wish.base_url is not None and usual.provider == "openai"
    key = ask_secret(f"Key of {usual.provider} (not shown{'; empty if it needs none' if is_own else ''})")
    if not key and is_own:
        return ""
    invocation.until_its_end.enter_context(guarding([key]))
    wanted = KIND_OF_PROVIDER.get(usual.provider, "")
    if other := misplaced(key, wanted):
        raise ConfigError(
            f"this looks like a key or token of another kind ({other}), not one of {usual.provider}: nothing was stored"
        )
    return checked_secret(usual.variable, key)


def _may_ask_again(usual: UsualModel, environ: Mapping[str, str]) -> bool:
    return sys.stdin.isatty() and bool(environ.get(usual.variable))
