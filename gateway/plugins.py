"""Plug-ins: parts of the gateway that installed packages register as entry points, Strandline's own parts included.

A group holds plug-ins of one kind, by name. Nothing is imported before it is loaded. Of several plug-ins of one name
Strandline's own is used; among strangers none is, as the order of installed packages means nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, distributions
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct

from gateway.errors import ConfigError, PluginError

T = TypeVar("T")

OURS = "strandline"
"""The distribution whose plug-ins are built in."""
_OUR_GROUPS = f"[{OURS}."
CHANNELS = "strandline.channels"
COMMANDS = "strandline.commands"
HOOKS = "strandline.hooks"
"""The one group in which Strandline has no plug-in of its own, and in which names may repeat."""
IMPORTERS = "strandline.importers"
MODELS = "strandline.models"
TOOLS = "strandline.tools"


class Plugin(Struct, frozen=True):
    """One name of a group, and every entry point that claims it."""

    group: str
    name: str
    claims: tuple[tuple[str, EntryPoint], ...]
    """Each entry point behind its package's name, which would be read from disk whenever it is asked for."""

    @property
    def is_built_in(self) -> bool:
        """Whether it is part of Strandline itself."""
        return any(package == OURS for package, _ in self.claims)

    @property
    def package(self) -> str:
        """The name of the package that it comes from."""
        return OURS if self.is_built_in else self.claims[0][0]

    @property
    def clash(self) -> str:
        """The sentence about packages that claim the same name; empty if there is one claim."""
        if len(self.claims) == 1:
            return ""
        strangers = [package for package, _ in self.claims if package != OURS]
        packages = ", ".join(sorted(set(strangers)))
        outcome = "Strandline's own is used" if self.is_built_in else "none of them is used"
        remedy = f"pip uninstall {strangers[0]}, or ask its authors for another name"
        return f'{packages}: the entry point "{self.name}" of {self.group} is taken; {outcome}: {remedy}'

    def load(self) -> object:
        """Import the plug-in and return it. Raises PluginError, one sentence with its remedy, if that fails."""
        ours = [entry for package, entry in self.claims if package == OURS]
        if not ours and len(self.claims) > 1:
            raise PluginError(self.clash)
        entry = ours[0] if ours else self.claims[0][1]
        try:
            return _loaded(entry)
        except (Exception, SystemExit) as exc:  # code of strangers: whatever it raises, it stops nothing else
            raise self.failure(exc) from exc

    def load_class(self, base: type[T]) -> type[T]:
        """Return the class that the plug-in is. Raises PluginError as `load` does, and for anything else."""
        found = self.load()
        if not (isinstance(found, type) and issubclass(found, base)):
            raise self.fault(f"it is not a subclass of {base.__name__}")
        return found

    def call(self, kind: type[T], resources: object) -> list[T]:
        """Return the parts of *kind* that the plug-in, a function, makes of *resources*. Raises PluginError."""
        make = self.load()
        if not callable(make):
            raise self.fault("it is not a function")
        try:
            made = list(make(resources))
        except Exception as exc:
            if self.is_built_in:
                raise
            raise self.failure(exc) from exc
        if not all(isinstance(each, kind) for each in made):
            raise self.fault(f"it does not return {kind.__name__}")
        return made

    def failure(self, exc: BaseException, outcome: str = "cannot be loaded") -> PluginError:
        """Return the error that names the exception of the plug-in; *outcome* follows its name in the sentence."""
        return self.fault(f"{type(exc).__name__}: {exc}", outcome)

    def fault(self, reason: str, outcome: str = "cannot be loaded") -> PluginError:
        """Return the error that says why the plug-in cannot be used."""
        package, entry = self.claims[0]
        where = f'{package}: the entry point "{self.name}" of {self.group} ({entry.value})'
        reason = " ".join(reason.split())
        return PluginError(f"{where} {outcome}: {reason}; update the package, or: pip uninstall {package}")


@cache
def plugins(group: str) -> Mapping[str, Plugin]:
    """Return the plug-ins of *group* by name.

    Raises ConfigError if Strandline's own are missing: it was updated without being installed anew.
    """
    found = {name: Plugin(group, name, claims) for name, claims in _registered().get(group, {}).items()}
    if group != HOOKS and not any(plugin.is_built_in for plugin in found.values()):
        raise ConfigError(
            f"Strandline's own entry points of {group} are missing: the code is newer than its installation; "
            "install it again: make up, or pip install --no-deps -e . in its folder"
        )
    return MappingProxyType(found)


def clashes(group: str) -> list[str]:
    """Return a sentence for each name of *group* that several packages claim."""
    return [plugin.clash for plugin in plugins(group).values() if plugin.clash]


def each_of(group: str, make: Callable[[Plugin], Iterable[T]]) -> tuple[list[tuple[Plugin, T]], list[str]]:
    """Return the parts that *make* makes of each plug-in of *group*, and a sentence for each that cannot be used."""
    offers: list[tuple[Plugin, T]] = []
    faults: dict[str, None] = dict.fromkeys(clashes(group))
    for plugin in plugins(group).values():
        try:
            offers += [(plugin, each) for each in make(plugin)]
        except PluginError as exc:
            faults[str(exc)] = None
    return offers, list(faults)


def unique(offers: Sequence[tuple[Plugin, str, T]]) -> tuple[list[T], list[str]]:
    """Return the parts whose names are theirs alone, and a sentence for each of the others.

    Strandline's own part keeps its name; among strangers' nobody does.
    """
    claims: dict[str, list[tuple[Plugin, T]]] = {}
    for plugin, name, part in offers:
        claims.setdefault(name, []).append((plugin, part))
    kept, faults = [], []
    for name, claimed in claims.items():
        ours = [part for plugin, part in claimed if plugin.is_built_in]
        kept += ours or ([claimed[0][1]] if len(claimed) == 1 else [])
        if len(claimed) > 1:
            packages = sorted({plugin.package for plugin, _ in claimed if not plugin.is_built_in})
            outcome = "Strandline's own is used" if ours else "none of them is used"
            remedy = f"pip uninstall {packages[0]}, or ask its authors for another name"
            faults.append(f"{', '.join(packages)}: the name {name} is taken; {outcome}: {remedy}")
    return kept, faults


def forget() -> None:
    """Look at the installed packages again when asked next; for tests that install some."""
    for found in (_registered, plugins, _loaded):
        found.cache_clear()


@cache
def _loaded(entry: EntryPoint) -> object:
    """Import what *entry* names, once: each turn asks for all tools."""
    loaded: object = entry.load()
    return loaded


@cache
def _registered() -> Mapping[str, Mapping[str, tuple[tuple[str, EntryPoint], ...]]]:
    """Return the claims by group and name; finding them reads all installed packages, some 20 ms."""
    found: dict[str, dict[str, tuple[tuple[str, EntryPoint], ...]]] = {}
    packages: set[str] = set()
    for package in distributions():
        if _OUR_GROUPS not in (package.read_text("entry_points.txt") or "") or (owner := package.name) in packages:
            continue  # the second of one name is an older copy, later on the path; names are slow to read
        packages.add(owner)
        for entry in package.entry_points:
            if entry.group.startswith(f"{OURS}."):
                group = found.setdefault(entry.group, {})
                group[entry.name] = (*group.get(entry.name, ()), (owner, entry))
    return found
