"""This file names the two channels that are no platform: the clock, and an agent's helpers.

What starts a turn without a person enters through the inbox like everything else: it is kept, taken in once, and
answered in order by the same means. Only the gateway itself makes such messages (`Reception.enter`).
"""

import json

from adapters.channel import Address, InboundMessage, Sender
from gateway.stores.codec import address_key
from workspaces.access import AgentId, SessionType

CLOCK = "clock"
HELPER = "helper"
CHANNELS = frozenset({CLOCK, HELPER})
RESULT = "result"
"""Begins the chat of a helper's result; the session that it goes to follows."""
PRIVATE_JOB = "private"
"""The thread of a job that works over private memory and delivers to the owner."""
NOBODY = Sender("", "")


def is_inner(message: InboundMessage) -> bool:
    """Say whether the gateway itself made *message*."""
    return message.address.channel in CHANNELS


def is_heartbeat(message: InboundMessage) -> bool:
    """Say whether *message* is a heartbeat of its agent."""
    return message.address == heartbeat_address(AgentId(message.address.account))


def heartbeat_address(agent: AgentId) -> Address:
    """Return where the heartbeat of *agent* comes from."""
    return Address(CLOCK, agent, str(SessionType.HEARTBEAT))


def job_address(agent: AgentId, job: str, *, in_main: bool = False, private: bool = False) -> Address:
    """Return where job *job* of *agent* comes from: run by itself, or *in_main* as a part of the owner's chat."""
    kind = SessionType.MAIN if in_main else SessionType.CRON
    return Address(CLOCK, agent, f"{kind}:{job}", PRIVATE_JOB if private else None)


def task_address(agent: AgentId, task: str) -> Address:
    """Return where the task of a helper of *agent* comes from."""
    return Address(HELPER, agent, f"{SessionType.SUBAGENT}:{task}")


def result_address(agent: AgentId, session: str, chat: Address | None = None) -> Address:
    """Return where a helper's result goes: to the session of that name, which speaks in *chat*."""
    return Address(HELPER, agent, f"{RESULT}:{session}", None if chat is None else address_key(chat))


def chat_of(address: Address) -> Address | None:
    """Return where the session speaks that a result goes to."""
    return None if address.thread is None else Address(*json.loads(address.thread))


def kind_of(address: Address) -> tuple[SessionType, str]:
    """Return of which type the session of an inner *address* is, and its name.

    Raises ValueError for what no function here made.
    """
    kind, _, name = address.chat.partition(":")
    if kind == RESULT:
        return SessionType(name.partition(":")[0]), name
    session_type = SessionType(kind)
    return session_type, kind if session_type is SessionType.MAIN else address.chat
