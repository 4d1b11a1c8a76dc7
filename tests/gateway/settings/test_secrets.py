"""Every setting that names a secret tells it to the redactor."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from gateway.channels.settings import ChannelsSettings, channel_settings
from gateway.config import Config
from gateway.config.reading import fields_of
from gateway.errors import ConfigError
from gateway.plugins import CHANNELS, plugins
from gateway.settings.secrets import known_secrets

EVERY = {
    "owner": {"people": ["telegram:1"]},
    "channels": {
        "telegram": {
            "home": {
                "token_env": "S_TELEGRAM",
                "mode": "webhook",
                "webhook_url": "https://a.example/telegram/home",
                "webhook_secret_env": "S_WEBHOOK",
            }
        },
        "discord": {"home": {"token_env": "S_DISCORD"}},
    },
    "models": {"m": {"provider": "cohere", "model": "m", "api_key_env": "S_MODEL"}},
    "metrics": {"enabled": True, "token_env": "S_METRICS"},
    "memory": {
        "embeddings": {"provider": "cohere", "api_key_env": "S_EMBEDDINGS"},
        "rerank": {"enabled": True, "api_key_env": "S_RERANK"},
    },
    "qdrant": {"url": "https://q.example", "api_key_env": "S_QDRANT"},
    "redis": {
        "url": "redis+sentinel://a.example:1/main",
        "password_env": "S_REDIS",
        "sentinel_password_env": "S_SENTINEL",
    },
    "web": {"enabled": True, "tokens": {"phone": {"token_env": "S_WEB", "owner": True}}},
    "mcp": {
        "one": {"command": ["x"], "env_from": ["S_PROGRAM", "HOME"]},
        "two": {"url": "https://t.example", "token_env": "S_TOOLS"},
    },
}
"""A configuration with one secret for each setting that takes one."""


def named(part: object) -> Iterator[tuple[str, str]]:
    """Give each setting that names a variable, by the section's class and its own name, and which one."""
    if isinstance(part, dict):
        for value in part.values():
            yield from named(value)
        return
    for name in fields_of(type(part)):
        value = getattr(part, name)
        if name.endswith("_env") and value is not None:
            yield f"{type(part).__name__}.{name}", value
        elif name == "env_from":
            yield from ((f"{type(part).__name__}.{name}", each) for each in value)
        else:
            yield from named(value)


def settings_of(kind: object) -> Iterator[str]:
    """Give every setting that names a variable, of a kind of section and of those within it."""
    for name, field in fields_of(kind).items():
        if name.endswith("_env") or name == "env_from":
            yield f"{getattr(kind, '__name__', kind)}.{name}"
        elif field.annotation is ChannelsSettings:
            for channel in plugins(CHANNELS).values():
                yield from settings_of(channel_settings(channel)) if channel.is_built_in else ()
        yield from settings_of(field.annotation)
    for inside in get_args(kind):
        yield from settings_of(inside)


def test_no_setting_that_names_a_secret_is_left_out() -> None:
    """A new one fails here until `secret_sources` gives it; the path of a home is not taken for a secret."""
    config = Config.model_validate(EVERY)
    found = list(named(config))
    assert {setting for setting, _ in found} == set(settings_of(Config)) - {"BotSettings.token_env"}
    environ = {variable: f"value of {variable}" for _, variable in found}
    assert {source.read(environ) for source in config.secret_sources()} == set(environ.values())
    assert set(known_secrets(config, environ)) == set(environ.values()) - {"value of HOME"}


def test_a_secret_that_fits_no_header_is_refused_by_its_setting_and_its_place() -> None:
    """A dash that a word processor made long; what is no key or token (a password, a variable) may hold any letter.

    The secret itself is not shown, and is taken out of texts all the same.
    """
    config, secret = Config.model_validate(EVERY), "canary\u2013of-a-key"
    others = {"redis.password_env", "redis.sentinel_password_env", "mcp.one.env_from"}
    for source in config.secret_sources():
        assert source.env is not None
        environ = {source.env: secret}
        if source.key in others:
            assert source.read(environ) == secret
        else:
            wrong = f"{source.key}: character 7 of the secret in the environment variable {source.env} is not ASCII"
            with pytest.raises(ConfigError, match=f"^{re.escape(wrong)}") as refused:
                source.read(environ)
            assert "canary" not in str(refused.value)
        assert (secret in known_secrets(config, environ)) == (source.env != "HOME")


def test_a_secret_that_is_not_in_use_is_known_too(tmp_path: Path) -> None:
    """The web door is shut and Redis is not used: one that is missing is passed over."""
    (tmp_path / "token").write_text("from a file\n")
    shut = Config.model_validate(
        {
            "web": {"enabled": False, "tokens": {"phone": {"token_file": tmp_path / "token", "owner": True}}},
            "redis": {"password_env": "S_REDIS"},
            "qdrant": {"url": "https://q.example", "api_key_env": "S_MISSING"},
        }
    )
    assert set(known_secrets(shut, {"S_REDIS": "from a variable"})) == {"from a file", "from a variable"}
