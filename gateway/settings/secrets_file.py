"""The home's file of secrets: keys and tokens by name, readable by its owner only."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from gateway.errors import ConfigError
from workspaces.lazy_pattern import lazy_pattern

NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HEAD = "# Keys and tokens of this home; `strandline keys set NAME` changes one. A running gateway takes it up.\n"


def read_secrets(file: Path) -> dict[str, str]:
    """Return the secrets in *file* by name; none if there is no such file. Raises ConfigError, which quotes nothing."""
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f'{file}: is not TOML; its lines have the form NAME = "secret"') from exc.with_traceback(None)
    for name, secret in table.items():
        if not (NAME.fullmatch(name) and isinstance(secret, str)):
            raise ConfigError(f'{file}: its lines have the form NAME = "secret"; one of them does not')
    return table


def with_secrets(environ: Mapping[str, str], file: Path) -> dict[str, str]:
    """Return *environ* with the secrets in *file*, which replace variables of the same name: they can be changed while
    the gateway runs. Raises ConfigError.
    """
    return {**environ, **read_secrets(file)}


def secrets_text(secrets: Mapping[str, str]) -> str:
    """Return the text of a file with these *secrets*."""
    return _HEAD + "".join(f"{name} = {json.dumps(secret)}\n" for name, secret in sorted(secrets.items()))


def checked_secret(name: str, secret: str) -> str:
    """Return *secret* without blanks around it. Raises ConfigError for an impossible name or secret; quotes neither."""
    secret = secret.strip()
    if not NAME.fullmatch(name):
        raise ConfigError("the name of a key consists of letters, digits and _, such as CO_API_KEY; nothing was stored")
    if not secret:
        raise ConfigError(f"{name}: nothing was pasted, so nothing was stored")
    if not (secret.isascii() and secret.isprintable()):
        raise ConfigError(f"{name}: keys and tokens are one line of ASCII characters; nothing was stored")
    return secret
