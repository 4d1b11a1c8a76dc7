"""Rehearsal of a first message: what reads messages is compiled soon after a start, when nobody waits for it yet.

Patterns are compiled when they are first used; those of a first message took a fifth of its time.
"""

import asyncio
from datetime import date

from gateway.agent.models.offline_intents import ordered_text
from gateway.agent.person_requests import request_in
from gateway.agent.recall import asks_about_the_past
from gateway.agent.recall_gate import calls_for_memories
from workspaces.memory.text.facts import facts_in

_GREETING, _QUESTION = "Good morning, Ada!", "What will the fence cost next week?"
_ANY_DAY = date(2026, 11, 24)


async def rehearse() -> None:
    """Read invented messages, on a thread."""
    await asyncio.to_thread(_read)


def _read() -> None:
    request_in(_GREETING)
    ordered_text(_GREETING)
    calls_for_memories(_QUESTION)
    asks_about_the_past(_QUESTION, _ANY_DAY)
    facts_in(_QUESTION)
