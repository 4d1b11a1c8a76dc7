"""Sources of secrets, and reading them; the settings themselves never hold a secret."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Self

from msgspec import Struct
from pydantic import BaseModel

from gateway.errors import ConfigError
from workspaces.memory.index.embeddings.settings import KEY_ENVS

ORDINARY = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "STRANDLINE_HOME", "TMPDIR", "TZ", "USER"}
)
"""Variables passed to programs that hold no secret: many texts contain the path of a home."""


class SecretSource(Struct, frozen=True):
    """A place to read a secret from: an environment variable or a file, never the configuration itself."""

    key: str
    """The setting that names the source, dotted, as in error messages."""
    env: str | None
    file: Path | None
    in_header: bool = False
    """Whether it is sent in an HTTP header or address, which must be ASCII."""

    @classmethod
    def of(cls, setting: str, env: str | None, file: Path | None) -> Self:
        """Return the place of a secret sent in a header; *setting* is its key without `_env` or `_file`."""
        return cls(f"{setting}_{'env' if env is not None else 'file'}", env, file, in_header=True)

    def read(self, environ: Mapping[str, str]) -> str:
        """Return the secret. Raises ConfigError, naming the setting and the place, for none or an impossible one."""
        secret = self._from_env(self.env, environ) if self.env is not None else self._from_file()
        if not secret.isprintable():
            raise ConfigError(f"{self.key}: the secret in {self._place} holds a line break or a control character")
        if self.in_header and not secret.isascii():
            place = next(number for number, letter in enumerate(secret, 1) if not letter.isascii())
            raise ConfigError(
                f"{self.key}: character {place} of the secret in {self._place} is not ASCII, which no key or token "
                "contains; copy it again"
            )
        return secret

    def available(self, environ: Mapping[str, str]) -> str:
        """Return the secret, empty if there is none that can be used."""
        try:
            return self.read(environ)
        except ConfigError:
            return ""

    @property
    def _place(self) -> str:
        return f"the environment variable {self.env}" if self.env is not None else str(self.file)

    def _from_env(self, name: str, environ: Mapping[str, str]) -> str:
        secret = environ.get(name, "").strip()
        if not secret:
            raise ConfigError(
                f"{self.key}: the environment variable {name} is not set; run: strandline keys set {name}, or export it"
            )
        return secret

    def _from_file(self) -> str:
        if self.file is None:
            raise ConfigError(f"{self.key}: no place to read the secret from")
        try:
            secret = self.file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "not UTF-8 text"
            raise ConfigError(f"{self.key}: cannot read {self.file}: {reason}") from exc
        if not secret:
            raise ConfigError(f"{self.key}: {self.file} is empty")
        return secret


def refuse_two_places(setting: str, env: str | None, file: Path | None) -> None:
    """Raise ValueError if both `<setting>_env` and `<setting>_file` name the place of a secret."""
    if env is not None and file is not None:
        raise ValueError(f"has both {setting}_env and {setting}_file; keep one")


def require_one_place(setting: str, env: str | None, file: Path | None) -> None:
    """Raise ValueError unless one of `<setting>_env` and `<setting>_file` names the place of a secret."""
    if (env is None) == (file is None):
        raise ValueError(f"needs either {setting}_env, the name of an environment variable, or {setting}_file, a path")


def secret_gaps(sources: Iterable[SecretSource], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each of *sources* without a usable secret: what needs it cannot be used."""
    gaps = []
    for source in sources:
        try:
            source.read(environ)
        except ConfigError as exc:
            gaps.append(str(exc))
    return tuple(gaps)


def known_secrets(section: BaseModel, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return every available secret that *section* names, in use or not."""
    found = []
    for source in _named(section):
        with suppress(ConfigError):
            found += [source.read(environ)] if source.env not in ORDINARY else []
    return (*found, *_usual_keys(environ))


def _named(part: object, key: str = "") -> Iterator[SecretSource]:
    """Yield each source named by a section and its subsections."""
    match part:
        case BaseModel():
            for name, value in part:
                yield from _named(value, name)
        case _ if is_dataclass(part):
            for each in fields(part):
                yield from _named(getattr(part, each.name), each.name)
        case dict():
            for value in part.values():
                yield from _named(value)
        case tuple() if key == "env_from":
            yield from (SecretSource(key, variable, None) for variable in part)
        case str() if key.endswith("_env"):
            yield SecretSource(key, part, None)
        case Path() if key.endswith("_file"):
            yield SecretSource(key, None, part)


def _usual_keys(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the providers' keys in the environment: `auto` uses them without the configuration naming them."""
    for env in KEY_ENVS.values():
        if key := environ.get(env, "").strip():
            yield key
