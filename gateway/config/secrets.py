"""This file knows where a secret is kept, and fetches it; the settings themselves never hold one."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import ConfigError
from workspaces.memory.index.embeddings.settings import PRESETS


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A place to read a secret from: an environment variable or a file, never the configuration itself."""

    key: str
    """The setting that names the place, dotted, as an error shows it."""
    env: str | None
    file: Path | None

    def read(self, environ: Mapping[str, str]) -> str:
        """Return the secret. Raises ConfigError, naming the setting and the place, when there is none."""
        secret = self._from_env(self.env, environ) if self.env is not None else self._from_file()
        if not secret.isprintable():
            raise ConfigError(f"{self.key}: the secret in {self._place} holds a line break or a control character")
        return secret

    @property
    def _place(self) -> str:
        return f"the environment variable {self.env}" if self.env is not None else str(self.file)

    def _from_env(self, name: str, environ: Mapping[str, str]) -> str:
        secret = environ.get(name, "").strip()
        if not secret:
            raise ConfigError(f"{self.key}: the environment variable {name} is not set; export it, or name a file")
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


def collect_secrets(sources: Iterable[SecretSource], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return every secret, for the redactor. Raises ConfigError for the first one that is missing."""
    return (*(source.read(environ) for source in sources), *_usual_keys(environ))


def known_secrets(sources: Iterable[SecretSource], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets that are there, for a command that may not need those that are not."""
    found = []
    for source in sources:
        with suppress(ConfigError):
            found.append(source.read(environ))
    return (*found, *_usual_keys(environ))


def _usual_keys(environ: Mapping[str, str]) -> Iterator[str]:
    """Give the providers' keys that are in the environment: `auto` uses them without the configuration naming them."""
    for preset in PRESETS.values():
        if key := environ.get(preset.key_env, "").strip():
            yield key
