"""Usage of a model's context window, by kind of content."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.agent.models.port import ModelRequest, tool_characters
from gateway.agent.window.count import Scale
from gateway.agent.window.shown import VisibleHistory
from workspaces.bootstrap import BootstrapFile


class WindowUse(Struct, frozen=True):
    """The content of one request, in tokens as exactly as they are known."""

    window: int
    """The model's limit, its answer included."""
    instructions: int
    """The gateway's own text: working instructions and the note of the turn."""
    files: int
    memory: int
    """MEMORY.md and the daily notes."""
    tools: int
    conversation: int
    shown: VisibleHistory
    is_measured: bool
    """The figures come from a provider's own count; else they are a cautious estimate."""

    @property
    def total(self) -> int:
        """Return the sum of all parts."""
        return self.instructions + self.files + self.memory + self.tools + self.conversation

    @property
    def share(self) -> float:
        """Return how full the window is: 1 is full, more does not fit."""
        return self.total / max(self.window, 1)


def window_use(
    request: ModelRequest, files: Sequence[BootstrapFile], shown: VisibleHistory, window_tokens: int, scale: Scale
) -> WindowUse:
    """Return the composition of *request*; *files* are the workspace's, of which its prompt may leave some out."""
    files = [file for file in files if file.text.strip() in request.stable]
    in_memory = sum(len(file.text) for file in files if _is_memory(file.name))
    in_files = sum(len(file.text) for file in files) - in_memory
    return WindowUse(
        window=window_tokens,
        instructions=scale.tokens(len(request.stable) - in_memory - in_files),
        files=scale.tokens(in_files),
        memory=scale.tokens(in_memory),
        tools=scale.tokens(tool_characters(request.tools)),
        conversation=scale.tokens(sum(entry.characters for entry in request.entries)),
        shown=shown,
        is_measured=scale.is_measured,
    )


def _is_memory(name: str) -> bool:
    path = PurePosixPath(name)
    return path.name.casefold() == "memory.md" or path.parts[:1] == ("memory",)
