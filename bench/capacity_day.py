"""Simulation of the busiest hours of many agents on several gateways, one of which dies and comes back.

Discrete events, seeded. A message waits for its agent's earlier one, for its agent to have a gateway, then twice for
the gateway's one processor: before the model and after it. The processor serves in order of arrival.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bench.capacity_model import USUAL, Usage
from bench.costs import Costs

_RESTART_S = 1.5
"""Restart time of a gateway after its share changes, without agents: `docs/scale.md` says a second or two."""


@dataclass(frozen=True, slots=True)
class Death:
    """Death of a gateway."""

    at_s: float
    back_s: float
    """Time until it comes back."""


@dataclass(frozen=True, slots=True)
class Day:
    """Parameters of a simulation."""

    agents: int
    gateways: int
    usage: Usage = USUAL
    hours: float = 2.0
    """All of them as busy as the busiest."""
    death: Death | None = None
    lease_s: float = 10.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """Result of a simulation; times in seconds."""

    messages: int
    seconds: float
    """From the first message to the last answer."""
    utilisation: float
    """Of the gateways' processors, while messages arrived."""
    queued: Sequence[float]
    """Wait of each message for the processor, sorted."""
    added: Sequence[float]
    """Time from each message to its answer, less only the model's time, sorted."""
    open_indexes: int
    """Maximum."""

    def queued_ms(self, part: float) -> float:
        """Return the wait for the processor that this part of the messages does not exceed."""
        return 1000 * _at(self.queued, part)

    def added_ms(self, part: float) -> float:
        """Return the time added to the model's that this part of the messages does not exceed."""
        return 1000 * _at(self.added, part)


def _at(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def arrivals(day: Day) -> list[tuple[float, int]]:
    """Return the time and agent of each message, in order of time."""
    return sorted(_said(day, random.Random(day.seed)))


def _said(day: Day, chance: random.Random) -> Iterator[tuple[float, int]]:
    usage, end_s = day.usage, 3600 * day.hours
    talks_a_second = day.agents * usage.peak_a_second / usage.messages_a_talk
    # Talks that began earlier and continue are as many as those that continue after the end.
    lead_s = 20 * usage.messages_a_talk * usage.gap_s
    at = -lead_s
    while (at := at + chance.expovariate(talks_a_second)) < end_s:
        agent, says = chance.randrange(day.agents), at
        while True:
            if 0 <= says < end_s:
                yield says, agent
            if chance.random() < 1 / usage.messages_a_talk:
                break
            says += chance.expovariate(1 / usage.gap_s)


def open_at_most(said: Sequence[tuple[float, int]], open_s: float) -> int:
    """Return the maximum number of agents with a talk in the last *open_s* seconds."""
    used: dict[int, float] = {}
    closing: list[tuple[float, int]] = []
    most = 0
    for at, agent in said:
        used[agent] = at
        heapq.heappush(closing, (at + open_s, agent))
        while closing[0][0] <= at:
            _, other = heapq.heappop(closing)
            if used.get(other, at) + open_s <= at:
                del used[other]
        most = max(most, len(used))
    return most


@dataclass(slots=True)
class _Message:
    said_at: float
    queued_s: float = 0.0


@dataclass(slots=True)
class _Lane:
    """One agent's messages, one at a time."""

    owner: int | None
    waiting: deque[_Message] = field(default_factory=deque)
    at_work: int | None = None
    """The gateway processing its first message."""


class Simulation:
    """Gateways, lanes and future events."""

    def __init__(self, costs: Costs, day: Day) -> None:
        self._costs, self._day = costs, day
        self._chance = random.Random(day.seed + 1)
        self._lanes = [_Lane(number % day.gateways) for number in range(day.agents)]
        self._free_at = [0.0] * day.gateways
        self._life = [0] * day.gateways
        self._busy_s = 0.0
        self._answered: list[_Message] = []
        self._added: list[float] = []
        self._last_at = 0.0
        self._count = 0
        self._events: list[tuple[float, int, Callable[[float], None]]] = []

    def run(self, said: Sequence[tuple[float, int]], open_s: float = 600.0) -> Seen:
        """Simulate until all of *said* is answered."""
        for at, agent in said:
            self._then(at, partial(self._arrive, agent))
        if death := self._day.death:
            self._then(death.at_s, self._die)
            self._then(death.at_s + self._day.lease_s, self._take_over)
            self._then(death.at_s + death.back_s, self._come_back)
        while self._events:
            at, _, happen = heapq.heappop(self._events)
            happen(at)
        queued = sorted(each.queued_s for each in self._answered)
        span_s = (said[-1][0] - said[0][0]) or self._last_at - said[0][0]
        share = self._busy_s / (span_s * self._day.gateways)
        return Seen(
            len(queued), self._last_at - said[0][0], share, queued, sorted(self._added), open_at_most(said, open_s)
        )

    def _then(self, at: float, happen: Callable[[float], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (at, self._count, happen))

    def _arrive(self, agent: int, at: float) -> None:
        self._lanes[agent].waiting.append(_Message(at))
        self._begin(agent, at)

    def _begin(self, agent: int, at: float) -> None:
        lane = self._lanes[agent]
        if lane.waiting and lane.at_work is None and lane.owner is not None:
            lane.at_work = lane.owner
            service_s = self._chance.choice(self._costs.message_ms) / 1000
            done_at = self._served(lane, service_s / 2, at)
            self._then(done_at + self._day.usage.model_s, self._of(agent, partial(self._replied, service_s)))

    def _replied(self, service_s: float, agent: int, at: float) -> None:
        done_at = self._served(self._lanes[agent], service_s / 2, at)
        self._then(done_at, self._of(agent, self._finish))

    def _finish(self, agent: int, at: float) -> None:
        lane = self._lanes[agent]
        message = lane.waiting.popleft()
        self._answered.append(message)
        self._added.append(at - message.said_at - self._day.usage.model_s)
        self._last_at = max(self._last_at, at)
        lane.at_work = None
        self._begin(agent, at)

    def _of(self, agent: int, happen: Callable[[int, float], None]) -> Callable[[float], None]:
        """Return *happen*, skipped if the processing gateway has died meanwhile."""
        gateway = self._at_work(self._lanes[agent])
        life = self._life[gateway]

        def unless_dead(at: float) -> None:
            if self._life[gateway] == life:
                happen(agent, at)

        return unless_dead

    def _served(self, lane: _Lane, service_s: float, at: float) -> float:
        """Return the time at which the lane's gateway has finished with it."""
        gateway = self._at_work(lane)
        begins_at = max(at, self._free_at[gateway])
        lane.waiting[0].queued_s += begins_at - at
        self._free_at[gateway] = begins_at + service_s
        self._busy_s += service_s
        return begins_at + service_s

    def _at_work(self, lane: _Lane) -> int:
        if lane.at_work is None:
            raise AssertionError("only a lane with a gateway asks for its processor")
        return lane.at_work

    # --- a death; it is the first gateway's

    def _die(self, _: float) -> None:
        self._life[0] += 1
        for lane in self._lanes:
            lane.owner = None if lane.owner == 0 else lane.owner
            lane.at_work = None if lane.at_work == 0 else lane.at_work

    def _take_over(self, at: float) -> None:
        others = range(1, self._day.gateways)
        free = [agent for agent, lane in enumerate(self._lanes) if lane.owner is None]
        for number, agent in enumerate(free if others else ()):
            self._lanes[agent].owner = others[number % len(others)]
        self._start_over(others, at)
        for agent in free:
            self._begin(agent, at)

    def _come_back(self, at: float) -> None:
        """Redistribute evenly; a gateway finishes work in progress."""
        for number, lane in enumerate(self._lanes):
            lane.owner = number % self._day.gateways
        self._free_at[0] = at
        self._start_over(range(self._day.gateways), at)
        for agent in range(len(self._lanes)):
            self._begin(agent, at)

    def _start_over(self, gateways: Sequence[int], at: float) -> None:
        """Restart gateways with a changed share: each finishes its work and reloads all its agents."""
        for gateway in gateways:
            agents = sum(lane.owner == gateway for lane in self._lanes)
            pause_s = _RESTART_S + agents * self._costs.agent_start_ms / 1000
            self._free_at[gateway] = max(at, self._free_at[gateway]) + pause_s


def simulate(costs: Costs, day: Day) -> Seen:
    """Return the result of *day*; deterministic for a seed."""
    return Simulation(costs, day).run(arrivals(day))


def simulate_burst(costs: Costs, messages: int, chats: int) -> Seen:
    """Simulate one gateway with *messages* at once and an instant model, as in the measurement of the costs."""
    day = Day(chats, 1, Usage(model_s=0))
    return Simulation(costs, day).run([(0.0, number % chats) for number in range(messages)])


def least_gateways(costs: Costs, day: Day, p95_ms: float, most: int) -> int | None:
    """Return the fewest gateways with which 19 of 20 messages wait less than *p95_ms*; `None`: not even *most*."""
    for gateways in range(1, most + 1):
        if simulate(costs, replace(day, gateways=gateways)).queued_ms(0.95) < p95_ms:
            return gateways
    return None
