"""A model's failures in words for its owner: provider, status, setting and next command, the same everywhere."""

from collections.abc import Iterator

from gateway.agent.models.settings import HostedSettings
from gateway.errors import ModelError, ModelFault


class ModelTroubles:
    """The last failure of each model, until it answers again."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def note(self, name: str, told: str) -> None:
        """Remember what the owner is told of the failure of model *name*."""
        self._known[name] = told

    def clear(self, name: str) -> None:
        """Forget the failure of model *name*: it has answered."""
        self._known.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        yield from self._known.values()


def describe_failure(failure: ModelError, settings: HostedSettings) -> str:
    """Return what the owner is told of *failure* of the model with these *settings*."""
    what = str(failure).removeprefix(f"{settings.name}: ")
    who = f"models.{settings.name} ({settings.provider}, {settings.model})"
    match failure.fault:
        case ModelFault.KEY:
            return f"{who}: {what}. Store another key: strandline keys set {settings.key_env or 'NAME'}"
        case ModelFault.QUOTA:
            return f"{who}: {what}. Add credit at the provider, or use another: strandline connect model"
        case ModelFault.NAME:
            wrong = f"models.{settings.name}.model"
            return f"{who}: {what}. Correct its name: strandline config set {wrong} NAME"
        case ModelFault.ADDRESS:
            where = settings.base_url or "the provider's address"
            key = f"models.{settings.name}.base_url"
            return f"{who}: {what} Tried: {where}. Start that server, or correct it: strandline config set {key} URL"
        case ModelFault.MISSING:
            return f"{who}: {what}"
    return f"{who}: {what}. It is tried again; to use another: strandline connect model"


def told_failure(failure: BaseException) -> str:
    """Return what was noted on *failure* for the owner; empty if nothing was."""
    return next(iter(getattr(failure, "__notes__", ())), "")
