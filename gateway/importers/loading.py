"""Importers by their entry points of `strandline.importers`."""

from pathlib import Path

from gateway.errors import ConfigError, StrandlineError
from gateway.importers.imported import ImportedConversation, ImportFormatError
from gateway.plugins import IMPORTERS, plugins


def imported(source: str, file: Path) -> list[ImportedConversation]:
    """Return the conversations that the importer *source* finds in *file*.

    Raises ImportFormatError if there are none, ConfigError for an unknown importer, PluginError for a package's that
    fails.
    """
    known = plugins(IMPORTERS)
    if source not in known:
        raise ConfigError(f"there is no importer {source}; there are: {', '.join(sorted(known))}")
    plugin = known[source]
    read = plugin.load()
    if not callable(read):
        raise plugin.fault("it is not a function")
    try:
        found = list(read(file))
    except StrandlineError:
        raise
    except Exception as exc:
        if plugin.is_built_in and isinstance(exc, OSError):
            raise ImportFormatError(f"{exc.filename or file.name} cannot be read: {exc.strerror or exc}") from exc
        if plugin.is_built_in:
            raise
        raise plugin.failure(exc, f"cannot read {file.name}") from exc
    if not all(isinstance(each, ImportedConversation) for each in found):
        raise plugin.fault("it returns something else than ImportedConversation", f"cannot read {file.name}")
    if not found:
        raise ImportFormatError(f"{file.name} has no conversation that the importer {source} can read")
    return found
