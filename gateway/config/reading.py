"""Reads the configuration and reports a fault in one line: file, key, fault, nearest valid key."""

import difflib
import inspect
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import get_args, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gateway.agent.entries import OFFLINE
from gateway.channels.settings import channel_settings
from gateway.config.schema import Config
from gateway.errors import ConfigError, PluginError
from gateway.plugins import CHANNELS, MODELS, plugins

_PATTERNS = {
    "people": 'must be "<channel>:<numeric id>", such as "telegram:12345"',
    "person": 'must be "<channel>:<numeric id>", such as "telegram:12345"',
    "channel": 'must be the name of a channel, such as "telegram"',
    "deliver": 'must be "<channel>:<account>", such as "telegram:home"',
    "groups": 'must be a numeric chat id in quotes, such as "-1001234567890"',
    "agents": "names consist of lowercase letters, digits and hyphens, such as [agents.home-office]",
    "models": "names consist of lowercase letters, digits and hyphens, such as [models.command-a]",
    "channels": "names consist of lowercase letters, digits and hyphens, such as [channels.telegram.home]",
    "tokens": "names consist of lowercase letters, digits and hyphens, such as [web.tokens.laptop]",
    "token_env": 'must be the name of an environment variable, such as "TELEGRAM_TOKEN", not the token itself',
    "mcp": "names consist of lowercase letters, digits and hyphens, such as [mcp.tracker]",
    "api_key_env": 'must be the name of an environment variable, such as "CO_API_KEY", not the key itself',
}
"""The expected form of a text that does not match its pattern, by the key (or the table) that holds it."""
_TYPES = {
    "tuple_type": 'must be a list in brackets, such as ["one", "two"]',
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text in quotes",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "dataclass_type": "must be a table",
}
"""The expected type, by Pydantic's name for an error."""
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""Pydantic's types of an error for an unknown key: of a model, of a dataclass."""


def read_config(file: Path) -> Config:
    """Return the settings in *file*; the defaults if there is no such file. Raises ConfigError."""
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return Config()
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{file}: is not UTF-8 text") from exc
    return parse_config(text, file)


def parse_config(text: str, file: Path) -> Config:
    """Return the settings in *text*, the current or future content of *file*. Raises ConfigError."""
    return _validate(parse_toml(text, file), file)


def parse_toml(text: str, file: Path) -> dict[str, object]:
    """Return the table in *text*, the content of *file*, valid settings or not. Raises ConfigError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{file}: is not TOML: {exc}") from exc


def _validate(table: dict[str, object], file: Path) -> Config:
    try:
        config = Config.model_validate(table, context={"folder": file.parent})
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False)
        errors.sort(key=lambda error: error["type"] not in _UNKNOWN)  # a misspelt key explains a missing one
        faults = [_fault(error) for error in errors]
    else:
        faults = list(_contradictions(config))
        if not faults:
            return config
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    raise ConfigError(f"{file}: {faults[0]}{more}")


# --- one table against another


def _contradictions(config: Config) -> Iterator[str]:
    yield from _unknown_models(config)
    yield from _unknown_agents(config)
    yield from _unknown_people(config)
    yield from _unknown_providers(config)
    yield from _unknown_accounts(config)
    yield from _unknown_delivery(config)
    yield from _among_accounts(config)
    yield from _open_metrics(config)


def _unknown_models(config: Config) -> Iterator[str]:
    if OFFLINE in config.models:
        yield f'models.{OFFLINE}: "{OFFLINE}" is the built-in responder; choose another name'
    names = [OFFLINE, *config.models]
    for agent, settings in config.agents.items():
        if settings.model not in names:
            yield f"agents.{agent}.model: no such model; {nearest(settings.model, names)}"
        for position, fallback in enumerate(settings.fallbacks):
            if fallback not in names:
                yield f"agents.{agent}.fallbacks[{position}]: no such model; {nearest(fallback, names)}"


def _unknown_agents(config: Config) -> Iterator[str]:
    for position, binding in enumerate(config.bindings):
        if binding.agent not in config.agents:
            yield f"bindings[{position}].agent: no such agent; {nearest(binding.agent, config.agents)}"
    for name, held in config.web.tokens.items():
        for position, agent in enumerate(held.agents):
            if agent not in config.agents:
                yield f"web.tokens.{name}.agents[{position}]: no such agent; {nearest(agent, config.agents)}"


def _unknown_providers(config: Config) -> Iterator[str]:
    for name, model in config.models.items():
        if model.provider not in plugins(MODELS):
            yield f"models.{name}.provider: no such provider; {nearest(model.provider, plugins(MODELS))}"


def _unknown_accounts(config: Config) -> Iterator[str]:
    for position, binding in enumerate(config.bindings):
        if binding.channel is not None and binding.channel not in plugins(CHANNELS):
            yield f"bindings[{position}].channel: no such channel; {nearest(binding.channel, plugins(CHANNELS))}"
        bots = [account for account, bot in config.channels.bots() if bot.channel == binding.channel]
        if binding.account is not None and binding.account not in bots:
            yield f"bindings[{position}].account: no such account; {nearest(binding.account, bots)}"


def _unknown_delivery(config: Config) -> Iterator[str]:
    bots = [f"{bot.channel}:{account}" for account, bot in config.channels.bots()]
    if config.owner.deliver is not None and config.owner.deliver not in bots:
        yield f"owner.deliver: no such account; {nearest(config.owner.deliver, bots)}"


def _open_metrics(config: Config) -> Iterator[str]:
    """Names of agents and accounts must not be public."""
    if config.gateway.allow_remote and config.metrics.enabled and config.metrics.token() is None:
        yield "metrics: other machines could read them (gateway.allow_remote); set token_env or token_file"


def _unknown_people(config: Config) -> Iterator[str]:
    """Somebody of a channel that nobody knows, or whom its platform cannot know."""
    named = [(f"owner.people[{position}]", person) for position, person in enumerate(config.owner.people)]
    named += [(f"bindings[{n}].person", given.person) for n, given in enumerate(config.bindings) if given.person]
    for where, person in named:
        known, channel = plugins(CHANNELS), person.partition(":")[0]
        if channel not in known:
            yield f"{where}: no such channel; {nearest(channel, known)}"
            continue
        with suppress(PluginError):  # the channel's own accounts tell of it
            settings = channel_settings(known[channel])
            if not settings.is_person(person):
                yield f'{where}: must be "{settings.person_shape()}"'


def _among_accounts(config: Config) -> Iterator[str]:
    """The rules of each channel for its own accounts."""
    for accounts in config.channels.root.values():
        for kind in {type(bot) for bot in accounts.values()}:
            yield from kind.contradictions(accounts, has_web=config.web.enabled)


# --- one key


def _fault(error: ErrorDetails) -> str:
    where = error["loc"]
    match error["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            what = f"unknown key; {nearest(str(where[-1]), _keys_beside(where))}"
        case "missing":
            what = "is missing"
        case kind if kind in _TYPES:
            what = _TYPES[kind]
        case "literal_error":
            what = f"must be {error['ctx']['expected']}"
        case "string_pattern_mismatch":
            what = _pattern(where)
        case "value_error":
            what = str(error["ctx"]["error"])
        case _:
            what = error["msg"].replace("Input should", "must").replace("must have", "needs", 1)
    return f"{_dotted_key(where)}: {what}"


def _dotted_key(where: Sequence[int | str]) -> str:
    text = ""
    for part in where:
        if part != "[key]":
            text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or "the file"


def _pattern(where: Sequence[int | str]) -> str:
    names = [part for part in where if part in _PATTERNS]
    return _PATTERNS[str(names[-1])] if names else "has an invalid value"


def nearest(wrong: str, right: Iterable[str]) -> str:
    """Return a hint at the name in *right* nearest to *wrong*."""
    choices = list(right)
    close = difflib.get_close_matches(wrong, choices, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]}?"
    return f"known here: {', '.join(sorted(choices))}" if choices else "there are none yet"


def _keys_beside(where: Sequence[int | str]) -> list[str]:
    """Return the valid keys of the table at *where*, less its last part."""
    if where[0] == "channels":
        return _keys_of_channel(where)
    return _keys_within(Config, where)


def _keys_of_channel(where: Sequence[int | str]) -> list[str]:
    """Return the same below `channels`, whose tables are the plug-ins'."""
    known = plugins(CHANNELS)
    if len(where) <= 2:
        return sorted(known)
    return _keys_within(dict[str, channel_settings(known[str(where[1])])], where[2:])  # type: ignore[misc]


def _keys_within(found: object, where: Sequence[int | str]) -> list[str]:
    for part in where[:-1]:
        found = _inside(found, part)
    return list(fields_of(found))


def _inside(annotation: object, part: int | str) -> object:
    if fields := fields_of(annotation):
        return fields[str(part)].annotation
    choices = [choice for choice in get_args(annotation) if choice not in {NoneType, Ellipsis}]
    return choices[-1] if choices else None


def fields_of(annotation: object) -> dict[str, FieldInfo]:
    """Return the settings of a table by name; none if *annotation* is no table: neither a model nor a dataclass."""
    if not inspect.isclass(annotation):
        return {}
    if issubclass(annotation, BaseModel):
        return annotation.model_fields
    if not is_dataclass(annotation):
        return {}
    hints = get_type_hints(annotation, include_extras=True)
    return {
        each.name: FieldInfo.from_annotation(hints[each.name])
        if each.default is MISSING
        else FieldInfo.from_annotated_attribute(hints[each.name], each.default)
        for each in fields(annotation)
    }
