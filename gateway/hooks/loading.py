"""Discovery of handlers: in installed packages, in the owner's Python files, and in folders of programs."""

import os
import stat
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from msgspec import structs

from gateway.errors import ConfigError, PluginError
from gateway.home import Home
from gateway.hooks.event import MARK, PRIORITY
from gateway.hooks.events import EVENTS, event_of
from gateway.hooks.programs import HookProgram
from gateway.hooks.running import Hook
from gateway.plugins import HOOKS, Plugin, plugins
from workspaces.lazy_pattern import lazy_pattern

_PROGRAM = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def hooks_of(home: Home) -> list[Hook]:
    """Return the handlers of *home*; while a restore has disabled its code, those of installed packages alone.

    Raises ConfigError as `load_hooks` does.
    """
    return load_hooks(home.hooks) if home.runs_code else list(_package_hooks())


def load_hooks(folder: Path) -> list[Hook]:
    """Return the handlers of installed packages, then those of the files in *folder*, then its programs.

    Each group is sorted by name. A package's hook that cannot be loaded counts as one that fails whenever an event
    decides: it may have been a guard. Raises ConfigError for a file that cannot be loaded, and for a folder or file
    that somebody else can write.
    """
    return [*_package_hooks(), *_file_hooks(folder), *_programs(folder)]


def _package_hooks() -> Iterator[Hook]:
    for plugin in packaged_hooks():
        try:
            yield from hooks_of_package(plugin)
        except PluginError as exc:
            yield from _failing(plugin.name, exc)


def packaged_hooks() -> list[Plugin]:
    """Return the hooks of installed packages; two may have one name."""
    named = sorted(plugins(HOOKS).items())
    return [structs.replace(plugin, claims=(claim,)) for _, plugin in named for claim in plugin.claims]


def hook_faults() -> list[str]:
    """Return a sentence for each hook of a package that cannot be loaded."""
    faults = []
    for plugin in packaged_hooks():
        try:
            hooks_of_package(plugin)
        except PluginError as exc:
            faults.append(str(exc))
    return faults


def hooks_of_package(plugin: Plugin) -> list[Hook]:
    """Return the handlers of one entry point. Raises PluginError."""
    found = plugin.load()
    try:
        return _handlers(found, plugin.name)
    except ConfigError as exc:
        raise plugin.fault(str(exc)) from exc


def _failing(source: str, fault: PluginError) -> Iterator[Hook]:
    def handler(_: object) -> None:
        raise fault

    for event in EVENTS:
        if event.decides:
            yield Hook(event.name, source, handler)


def _file_hooks(folder: Path) -> Iterator[Hook]:
    if not folder.is_dir():
        return
    _check_owner(folder, 0o077, "chmod 700")
    for file in sorted(folder.glob("*.py")):
        _check_owner(file, 0o022, "chmod 600")
        yield from _handlers(_module(file), file.name)


def _programs(folder: Path) -> Iterator[Hook]:
    for place in sorted(folder.glob("*.d")):
        _check_owner(place, 0o022, "chmod 700")
        event = event_of(place.stem)
        if event is None or not event.for_programs:
            known = ", ".join(each.name for each in EVENTS if each.for_programs)
            raise ConfigError(f"{place}: is not named after an event that programs can handle: {known}")
        for file in sorted(file for file in place.iterdir() if _PROGRAM.fullmatch(file.name)):
            _check_owner(file, 0o022, "chmod 700")
            if not (file.is_file() and os.access(file, os.X_OK)):
                raise ConfigError(f"{file}: is not executable; run chmod 700 on it, or remove it from {place.name}")
            yield Hook(event.name, f"{place.name}/{file.name}", HookProgram(file, event.name, event.deadline_s))


def _check_owner(path: Path, forbidden: int, remedy: str) -> None:
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & forbidden:
        raise ConfigError(f"{path}: hooks run with your rights, and others can change this; {remedy}, owned by you")


def _module(file: Path) -> ModuleType:
    name = f"strandline_hook_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{file}: is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as exc:
        raise ConfigError(f"{file}: cannot be loaded: {type(exc).__name__}: {exc}") from exc
    return module


def _handlers(found: object, source: str) -> list[Hook]:
    """Return the marked functions of a module, or the one marked function *found*."""
    candidates = list(vars(found).values()) if isinstance(found, ModuleType) else [found]
    marked = [each for each in dict.fromkeys(filter(callable, candidates)) if hasattr(each, MARK)]
    if not marked:
        raise ConfigError(f"the hook {source} marks no function with @on(…)")
    return [_hook(each, source) for each in marked]


def _hook(handler: object, source: str) -> Hook:
    event, name = getattr(handler, MARK), getattr(handler, "__name__", "handler")
    if event_of(event) is None:
        raise ConfigError(f"the hook {source}:{name} asks for {event!r}, which is not an event of this gateway")
    return Hook(event, f"{source}:{name}", handler, getattr(handler, PRIORITY, 0))  # type: ignore[arg-type]
