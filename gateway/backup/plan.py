"""The plan of a restore: its files and their places, its code, and the losses of the present home."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from gateway.backup.contents import ArchiveContents
from gateway.backup.members import OUTSIDE, STATE
from gateway.backup.parts import outside_workspaces, parts_of
from gateway.config.reading import parse_config, read_config
from gateway.config.schema import Config
from gateway.config.values import without_value
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.settings.secrets import SecretSource

_PIECE = 1 << 20
_DEFAULTS = Config()


class RestoreLosses(Struct, frozen=True):
    """Files of a home that a backup does not have."""

    missing: tuple[str, ...] = ()
    """Files that exist only in the home."""
    changed: tuple[str, ...] = ()
    """Files that differ in the home."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.changed)


class RestorePlan(Struct, frozen=True):
    """The effects of a restore."""

    contents: ArchiveContents
    config: str
    """The text of the future `config.toml`."""
    settings: Config
    """Its parsed settings."""
    writes: Mapping[str, int]
    """Number of files, by the folder or file that they are written to."""
    outside: Mapping[str, Path]
    """Workspaces that the backup's configuration places outside of the home, by agent."""
    code: tuple[str, ...]
    """Code that the gateway would run: hooks, and the commands of tool servers."""
    secrets: tuple[str, ...]
    """Files outside of the home from which it would read secrets, with the settings that name them."""
    talks_to: tuple[str, ...]
    """Addresses that it would contact, with the settings that name them."""
    owners: tuple[str, ...]
    """People who would be its owners."""


def plan_restore(contents: ArchiveContents, home: Home, *, outside: bool) -> RestorePlan:
    """Return the effects of restoring *contents* to *home*; workspaces stay in the home unless *outside* is allowed.

    Raises ConfigError for settings that this version does not know, or that cannot be confined to the home.
    """
    text = contents.config
    config = parse_config(text, home.config_file)
    elsewhere = outside_workspaces(home, config)
    if not outside:
        for agent in elsewhere:
            text = _without_workspace(text, agent)
        config = parse_config(text, home.config_file)
    return RestorePlan(
        contents,
        text,
        config,
        dict(sorted(_places(contents, home, elsewhere if outside else {}).items())),
        elsewhere,
        code_of(contents.files, config),
        tuple(_outside_secrets(config, home)),
        tuple(f"{key} = {address}" for key, address in _addresses(config.model_dump(), _DEFAULTS.model_dump())),
        config.owner.people,
    )


def _without_workspace(text: str, agent: str) -> str:
    try:
        return without_value(text, ("agents", agent, "workspace"))
    except ConfigError as exc:
        raise ConfigError(
            f"agents.{agent}.workspace leads out of the home, and is written in a form that cannot be changed; allow "
            "it: --allow outside"
        ) from exc


def code_of(files: Mapping[str, object], config: Config) -> tuple[str, ...]:
    """Return the code that a home with these *files* and settings runs: hooks, and the commands of tool servers."""
    hooks = [name for name in files if name.startswith("hooks/")]
    commands = [f"mcp.{name}: {' '.join(server.command)}" for name, server in config.mcp.items() if server.command]
    return (*sorted(hooks), *commands)


def workspace_in(home: Home, outside: Mapping[str, Path], agent: str) -> Path:
    """Return the destination of the separately stored workspace of *agent*."""
    return outside.get(agent, home.agent(agent).workspace)


def _places(contents: ArchiveContents, home: Home, outside: Mapping[str, Path]) -> Counter[str]:
    places: Counter[str] = Counter()
    for name in contents.files:
        first, _, rest = name.partition("/")
        agent = rest.partition("/")[0]
        if first == OUTSIDE:
            places[str(workspace_in(home, outside, agent))] += 1
        else:
            places[str(home.agents / agent if first == "agents" else home.path / first)] += 1
    return places


def _outside_secrets(config: Config, home: Home) -> Iterator[str]:
    for source in config.secret_sources():
        if source.file is not None and not source.file.resolve().is_relative_to(home.path.resolve()):
            yield f"{source.key} = {source.file}"


def _addresses(value: object, default: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every address among settings that differ from the default, with its setting."""
    match value:
        case dict():
            for name, inner in value.items():
                known = default.get(name) if isinstance(default, dict) else None
                yield from _addresses(inner, known, f"{key}.{name}" if key else str(name))
        case str() if "://" in value and value != default:
            yield key, value


# --- losses


def losses_of(home: Home, contents: ArchiveContents) -> RestoreLosses:
    """Return the files of *home* that *contents* do not have; of the state, only that it differs. Raises OSError."""
    if not home.exists:
        return RestoreLosses()
    try:
        config = read_config(home.config_file)
    except ConfigError:
        config = Config()
    missing, changed = [], []
    for name, path in _present(home, config):
        known = contents.files.get(name)
        if known is None:
            missing.append(name)
        elif _digest(path) != known.sha256:
            changed.append(name)
    return RestoreLosses(tuple(sorted(missing)), tuple(sorted(changed)))


def _present(home: Home, config: Config) -> Iterator[tuple[str, Path]]:
    """Yield the files of a home by their names in a backup."""
    if home.state_db.exists():
        yield STATE, home.state_db
    for path in home.agents.glob("*/sessions/**/*.jsonl*"):
        yield path.relative_to(home.path).as_posix(), path
    for part in parts_of(home, config):
        yield from ((name, path) for name, path in part.files() if not path.is_dir())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing_secrets(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the settings whose secrets are missing here: a backup contains none."""

    def is_there(source: SecretSource) -> bool:
        try:
            return bool(source.read(environ))
        except ConfigError:
            return False

    return tuple(source.key for source in config.secret_sources() if not is_there(source))
