"""Adds a meter to a gateway's parts; without one nothing is wrapped."""

import time
from collections.abc import Callable

from adapters.channel import Address
from gateway.admission.routing import Envelope
from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry
from gateway.agent.models.port import Model, ModelRequest, OnText, WrappedModel
from gateway.observability.metrics import Meter
from gateway.runtime.clock import Clock
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.stores.sqlite.store import SqliteStore

Submit = Callable[[Envelope, InboxRow], None]
Outcome = Callable[[InboxRow, list[OutboxRow]], None]


def metered_agent(agent: Agent, meter: Meter | None) -> Agent:
    return agent if meter is None else agent.with_models(lambda model: MeteredModel(model, agent.id, meter))


def count_accepted(submit: Submit, meter: Meter | None) -> Submit:
    """Return *submit*, which passes on accepted messages, with a counter."""
    if meter is None:
        return submit

    def submit_counted(envelope: Envelope, row: InboxRow) -> None:
        meter.received(row.message.address.channel)
        submit(envelope, row)

    return submit_counted


def time_turns(outcome: Outcome, meter: Meter | None, clock: Clock) -> Outcome:
    """Return *outcome*, which receives the result of each turn, with a timer from the message's arrival."""
    if meter is None:
        return outcome

    def outcome_timed(row: InboxRow, replies: list[OutboxRow]) -> None:
        if not any(reply.is_notice for reply in replies):  # the notice that the answer has to wait
            meter.answered(row.message.address.channel, (clock.now() - row.received_at).total_seconds())
        outcome(row, replies)

    return outcome_timed


def measure(store: Store, meter: Meter | None) -> None:
    """Time the commits of the state from now on."""
    if meter is not None and isinstance(store, SqliteStore):
        store.measure(meter.committed)


def sent_counter(meter: Meter | None) -> Callable[[Address], None] | None:
    """Return a function that counts a part sent to an address."""
    return None if meter is None else lambda address: meter.sent(address.channel)


class MeteredModel(WrappedModel):
    """Implements `Model` with another one; the usage of a call counts for the model that replied, by its own name."""

    def __init__(self, model: Model, agent: str, meter: Meter) -> None:
        super().__init__(model)
        self._agent = agent
        self._meter = meter

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        began, answer = time.perf_counter(), None
        try:
            answer = await self._model.reply(request, on_text)
            return answer
        finally:
            name, used = (answer.model, answer.usage) if answer is not None else (self.name, None)
            self._meter.called(self._agent, name, time.perf_counter() - began, used)
