"""The gateway's error tree.

    StrandlineError
    ├── ConfigError            the operator must fix something: one line, exit status 2
    │   └── PluginError        an installed package's part cannot be loaded; the rest works
    ├── HomeLockedError        another process owns the home: exit status 3
    ├── WorkspaceLockedError   another process works in an agent's workspace: exit status 3
    ├── GatewayBusyError       the running gateway is between two runs, or on standby: ask again in a moment
    ├── StoreError             the state on disk cannot be used
    ├── BackupError            a backup cannot be made, or is not restored
    ├── ApprovalError          a decision about a change is not possible: shown to the owner
    ├── CheckupError           a proposal of a check-up cannot be decided: shown to the owner
    ├── PairingError           a person cannot be approved, denied or revoked: shown to the owner
    ├── ToolError              shown to the model as the result of its call
    ├── McpError               a tool server is unavailable or disconnected: its tools are absent
    ├── HookError              a deciding handler failed: the action in question does not happen
    ├── TurnLimitError         a turn used up its steps, time or tokens
    └── ModelError             no usable reply
        ├── ModelUnavailableError   try again later, or another model
        │   └── WrittenCallError        the reply is a tool call written as text
        ├── ModelRefusedError       this request will never work (bad key, unknown model)
        │   └── HouseError              a model elsewhere may not read it, so it was not asked
        ├── ModelOverflowError      the request is larger than the model's window
        ├── ModelFloodError         the reply exceeded every bound, and would again
        └── BudgetError             the day's budget does not cover the call, so it was not made

Channel errors live in `adapters.channel`, workspace errors in `workspaces.errors`.
"""

from enum import StrEnum


class ModelFault(StrEnum):
    """The setting that a model's failure points at."""

    KEY = "key"
    QUOTA = "quota"
    NAME = "name"
    ADDRESS = "address"
    MISSING = "missing"
    """There is no key; the message has the setting and the remedy."""
    REPLY = "reply"
    """None: it answered, and its reply cannot be used."""
    OTHER = "other"


class StrandlineError(Exception):
    """A failure that the gateway reports in one plain sentence."""


def first_error(exc: BaseException) -> BaseException:
    """Return *exc*, or the first of a group, however deep."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return exc


def leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    """Return the errors in *group*, and in the groups within it; a group has no sentence for a person."""
    found: list[Exception] = []
    for each in group.exceptions:
        found += leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found


class ConfigError(StrandlineError):
    """The configuration cannot be used; the message names the key and how to correct it."""


class PluginError(ConfigError):
    """A plug-in cannot be loaded; the message names its package and entry point, the fault and the remedy."""


class HomeLockedError(StrandlineError):
    """Another process owns the home."""


class GatewayBusyError(StrandlineError):
    """The running gateway is between two runs, or on standby."""


class WorkspaceLockedError(StrandlineError):
    """Another process works in the workspace of an agent; the message names both and how to resolve it."""


class StoreError(StrandlineError):
    """The state on disk cannot be used."""


class BackupError(StrandlineError):
    """A backup cannot be made or restored; nothing was changed."""


class ApprovalError(StrandlineError):
    """A decision about a waiting change is not possible; the message says why."""


class CheckupError(StrandlineError):
    """A proposal of a check-up cannot be decided; nothing was changed, and the message says why."""


class PairingError(StrandlineError):
    """A person cannot be approved, denied or revoked; the message says why."""


class ToolError(StrandlineError):
    """A tool call failed; the message is for the model."""


class ScheduleError(StrandlineError):
    """A schedule cannot be parsed; the message names the field and shows a valid example."""


class McpError(StrandlineError):
    """A tool server cannot be used; the message says why, for the owner."""

    def __init__(self, why: str, *, last_line: str = "") -> None:
        """*last_line* is a program's own last word, which only the log and a terminal may show."""
        super().__init__(why)
        self.last_line = last_line


class HookError(StrandlineError):
    """A deciding hook failed, so the answer is no."""


class TurnLimitError(StrandlineError):
    """A turn reached one of its limits; `reason` is the code that the ledger counts."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModelError(StrandlineError):
    """A model gave no usable reply; `fault` is the setting that it points at."""

    fault: ModelFault = ModelFault.OTHER


class ModelUnavailableError(ModelError):
    """The model cannot be reached now: outage, rate limit, broken stream."""

    def __init__(self, reason: str, retry_after_s: float | None = None, fault: ModelFault = ModelFault.OTHER) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s
        self.fault = fault


class WrittenCallError(ModelUnavailableError):
    """The model wrote a tool call as text, in its own notation: only calls by the provider's API are made."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: the reply is a tool call written as text", fault=ModelFault.REPLY)


class ModelRefusedError(ModelError):
    """The provider refuses the request for good: bad key, unknown model, invalid request."""

    def __init__(self, reason: str, fault: ModelFault = ModelFault.OTHER) -> None:
        super().__init__(reason)
        self.fault = fault


class HouseError(ModelRefusedError):
    """The request is about text that stays on the owner's machines, and the model runs elsewhere: it was not asked."""


class ModelOverflowError(ModelError):
    """The request does not fit the model's window."""


class ModelFloodError(ModelError):
    """The model wrote *characters* and did not end; another request would cost as much again."""

    def __init__(self, characters: int) -> None:
        super().__init__(f"one reply grew past {characters:,} characters")
        self.characters = characters


class BudgetError(ModelError):
    """A model call was not made, because the owner's daily budget does not cover it."""

    def __init__(self, cause: str, said: str, mark: str) -> None:
        """*said* is for the owner; *mark* is the same for every call that one limit stops on one day."""
        super().__init__(said)
        self.cause = cause
        self.mark = mark
