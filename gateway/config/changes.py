"""Changes a home's configuration and secrets: concurrent writers take turns, and nothing invalid is written."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path as FilePath

from gateway.channels.settings import STAYS_CLOSED
from gateway.config.reading import parse_config, parse_toml
from gateway.config.schema import Config
from gateway.config.values import Path, key_path, with_values, without_value
from gateway.errors import ConfigError
from gateway.home import FILE_MODE, Home
from gateway.settings.secrets_file import checked_secret, read_secrets, secrets_text


@contextmanager
def changing(home: Home) -> Iterator[str]:
    """Yield the configuration's text to a writer; concurrent writers take turns."""
    with _turn(home):
        yield present_text(home)


def present_text(home: Home) -> str:
    r"""Return the configuration as it is, valid or not: a byte that is no UTF-8 stands as `\xff`."""
    return home.config_file.read_text("utf-8", "backslashreplace") if home.config_file.exists() else ""


def config_with(home: Home, values: Mapping[Path, object]) -> Config:
    """Return the configuration of *home* as it would be with *values* by their paths. Raises ConfigError."""
    return parse_config(with_values(present_text(home), values), home.config_file)


@contextmanager
def _turn(home: Home) -> Iterator[None]:
    from filelock import FileLock

    home.create()
    with FileLock(home.path / "run" / "config.lock", mode=FILE_MODE):
        yield


def change_config(home: Home, edit: Callable[[str], str]) -> Config:
    """Write the configuration as *edit* returns it, if it is valid; return its settings. Raises ConfigError."""
    with changing(home) as text:
        changed = edit(text)
        config = parse_config(changed, home.config_file)
        if changed != text:
            _write(home, home.config_file, changed)
        return config


def set_values(home: Home, values: Mapping[Path, object]) -> Config:
    """Set each of *values* by its path; all of them or none. Raises ConfigError.

    A value that a file may hold, but that closes an account of a channel until it is corrected, is refused too.
    """

    def edit(text: str) -> str:
        parse_toml(text, home.config_file)
        known = set[str]()
        with suppress(ConfigError):
            known.update(_closed(parse_config(text, home.config_file)))
        text = with_values(text, values)
        for fault in _closed(parse_config(text, home.config_file)):
            if fault not in known:
                raise ConfigError(f"{home.config_file}: {fault.removesuffix(STAYS_CLOSED)}")
        return text

    return change_config(home, edit)


def set_text(home: Home, key: str, value: str) -> None:
    """Write *value* at the dotted *key*, as TOML if it is such and accepted, else as text. Raises ConfigError."""
    path = key_path(key)
    with suppress(tomllib.TOMLDecodeError):
        table = tomllib.loads(f"value = {value}")
        if [*table] == ["value"]:
            try:
                set_values(home, {path: table["value"]})
            except ConfigError:
                if isinstance(table["value"], str | list | dict | bool):
                    raise
            else:
                return
    set_values(home, {path: value})


def unset(home: Home, key: str) -> None:
    """Remove the dotted *key*, a setting or a table, so that its default counts again. Raises ConfigError."""
    path = key_path(key)

    def edit(text: str) -> str:
        parse_toml(text, home.config_file)
        return without_value(text, path)

    change_config(home, edit)


def set_secret(home: Home, name: str, secret: str) -> None:
    """Store *secret* as *name* in the home's file of secrets. Raises ConfigError."""
    known = checked_secret(name, secret)
    with _turn(home):
        _write(home, home.secrets_file, secrets_text({**read_secrets(home.secrets_file), name: known}))


def remove_secret(home: Home, name: str) -> bool:
    """Remove the secret *name*; say whether there was one. Raises ConfigError."""
    with _turn(home):
        secrets = read_secrets(home.secrets_file)
        is_known = secrets.pop(name, None) is not None
        if is_known:
            _write(home, home.secrets_file, secrets_text(secrets))
    return is_known


def _closed(config: Config) -> Iterator[str]:
    """Yield why accounts of channels stay closed by their own settings."""
    yield from (bot.fault(account) for account, bot in config.channels.bots() if bot.fault(account))


def _write(home: Home, file: FilePath, text: str) -> None:
    try:
        home.write(file, text)
    except OSError as exc:
        raise ConfigError(f"{file}: cannot be written: {exc.strerror}") from exc
