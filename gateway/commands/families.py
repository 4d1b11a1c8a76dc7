"""Strandline's own commands by family, as the entry points of `strandline.commands` name them."""

from gateway.commands.approvals import approval_commands as approval
from gateway.commands.checkup import checkup_commands
from gateway.commands.command import Command
from gateway.commands.context import context_commands as context
from gateway.commands.cron import cron_commands as cron
from gateway.commands.forget import forget_commands as forget
from gateway.commands.fulfil import fulfil_commands as fulfil
from gateway.commands.group import group_commands
from gateway.commands.heartbeat import heartbeat_commands as heartbeat
from gateway.commands.history import history_commands as history
from gateway.commands.house import house_commands
from gateway.commands.memory import memory_commands
from gateway.commands.pair import pair_commands
from gateway.commands.promises import promise_commands as promises
from gateway.commands.purge import purge_commands as purge
from gateway.commands.remember import remember_commands as remember
from gateway.commands.replaces import replaces_commands as replaces
from gateway.commands.resources import CommandResources
from gateway.commands.session import model_commands
from gateway.commands.session import queue_commands as queue
from gateway.commands.session import session_commands as session
from gateway.commands.session import stop_commands as stop
from gateway.commands.status import agent_commands as agent
from gateway.commands.status import status_commands as status
from gateway.commands.status import whoami_commands as whoami
from gateway.commands.undo import undo_commands as undo
from gateway.commands.why import why_commands as why

__all__ = [
    "agent", "approval", "context", "cron", "forget", "fulfil", "heartbeat", "history", "memory", "model", "pair",
    "promises", "purge", "queue", "remember", "replaces", "session", "status", "stop", "undo", "whoami", "why",
]  # fmt: skip


def memory(parts: CommandResources) -> list[Command]:
    """Return the commands about searching and checking memory."""
    return [*memory_commands(parts), *checkup_commands(parts)]


def model(parts: CommandResources) -> list[Command]:
    """Return the commands about the session's model, and about who may know what is said."""
    return [*model_commands(parts), *house_commands(parts)]


def pair(parts: CommandResources) -> list[Command]:
    """Return the commands about people and groups that ask to be let in."""
    return [*pair_commands(parts), *group_commands(parts)]
