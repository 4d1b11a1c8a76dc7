"""The two internal channels: the scheduler, and an agent's subagents.

Turns without a person also start from messages in the inbox, which are durable, accepted once, and answered in order by
the same means. Only the gateway itself creates such messages (`Reception.enter`).
"""

import json

from adapters.channel import Address, InboundMessage, Sender
from gateway.stores.codec import address_key
from workspaces.access import AgentId, SessionType

CLOCK = "clock"
SUBAGENT = "helper"
CHANNELS = frozenset({CLOCK, SUBAGENT})
RESULT = "result"
"""Prefix of the chat of a subagent's result; the name of the receiving session follows."""
PRIVATE_JOB = "private"
"""The thread of a job that has access to private memory and delivers to the owner."""
NOBODY = Sender("", "")


def is_inner(message: InboundMessage) -> bool:
    """Return whether the gateway itself created *message*."""
    return message.address.channel in CHANNELS


def is_heartbeat(message: InboundMessage) -> bool:
    """Return whether *message* is a heartbeat of its agent."""
    return message.address == heartbeat_address(AgentId(message.address.account))


def heartbeat_address(agent: AgentId) -> Address:
    return Address(CLOCK, agent, str(SessionType.HEARTBEAT))


def job_address(agent: AgentId, job: str, *, in_main: bool = False, private: bool = False) -> Address:
    """Return the address of job *job* of *agent*: a session of its own, or *in_main* the owner's chat."""
    kind = SessionType.MAIN if in_main else SessionType.CRON
    return Address(CLOCK, agent, f"{kind}:{job}", PRIVATE_JOB if private else None)


def task_address(agent: AgentId, task: str) -> Address:
    return Address(SUBAGENT, agent, f"{SessionType.SUBAGENT}:{task}")


def result_address(agent: AgentId, session: str, chat: Address | None = None) -> Address:
    """Return the address of a subagent's result: the session of that name, which speaks in *chat*."""
    return Address(SUBAGENT, agent, f"{RESULT}:{session}", None if chat is None else address_key(chat))


def chat_of(address: Address) -> Address | None:
    """Return the chat of the session that receives a result."""
    return None if address.thread is None else Address(*json.loads(address.thread))


def kind_of(address: Address) -> tuple[SessionType, str]:
    """Return the type and name of the session of an internal *address*.

    Raises ValueError for an address that no function here made.
    """
    kind, _, name = address.chat.partition(":")
    if kind == RESULT:
        return SessionType(name.partition(":")[0]), name
    session_type = SessionType(kind)
    return session_type, kind if session_type is SessionType.MAIN else address.chat
