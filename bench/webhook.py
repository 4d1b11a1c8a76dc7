"""Benchmark of Telegram's updates by webhook: from the request to a durable message.

The adapter, the HTTP server and the store on disk are real; no agent answers. Requests come at an even pace, whether
earlier ones are answered or not, on as many connections as Telegram opens, and one in a hundred comes twice. Afterwards
the inbox is checked: each message once, each chat in order.

`python -m bench.webhook --seconds 60` prints one run; `make bench ARGS="--only webhook"` a short one beside its goals.
"""

import argparse
import asyncio
import gc
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.telegram import TelegramAdapter, Webhook
from bench.figures import Figure, at_most
from gateway.admission.gate import AdmissionGate
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Routes
from gateway.inbound.receive import Reception
from gateway.runtime.clock import SystemClock
from gateway.stores.rows import InboxRow
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.reception import reception_of
from workspaces.access import AgentId

OWNER = 42
SECRET = "loopback-secret"
A_SECOND = 500
CHATS = 200
CONNECTIONS = 40
"""Telegram's default."""
TWICE_EVERY = 100
SHORT_S = 10

Take = Callable[[bytes], Awaitable[int]]
"""Delivers the body of one request and returns the status of its answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one run."""

    sent: int
    waits_s: Sequence[float]
    """Time from each request's due time to its 200, shortest first."""
    statuses: Counter[int]
    lost: int
    doubled: int
    reordered: int

    def wait_ms(self, share: float) -> float:
        """Return the wait that this *share* of the requests did not exceed, in milliseconds."""
        return self.waits_s[min(len(self.waits_s) - 1, int(share * len(self.waits_s)))] * 1000


def update(number: int) -> bytes:
    """Return update *number* in Telegram's format: the owner writes that number in one of the groups."""
    chat = -1000 - number % CHATS
    message = {
        "message_id": 1 + number // CHATS,
        "date": 1793707200,
        "chat": {"id": chat, "title": f"Group {chat}", "type": "supergroup"},
        "from": {"id": OWNER, "is_bot": False, "first_name": "Anna", "language_code": "en"},
        "text": f"{number} @strand_bot what did we say about the garden?",
        "entities": [{"type": "mention", "offset": len(str(number)) + 1, "length": 11}],
    }
    return json.dumps({"update_id": 700_000 + number, "message": message}).encode()


async def bring(take: Take, seconds: float) -> tuple[list[float], Counter[int]]:
    """Deliver updates at an even pace; return the time of each since it was due, and the statuses."""
    waits, statuses, connections = list[float](), Counter[int](), asyncio.Semaphore(CONNECTIONS)
    began = time.perf_counter()

    async def one(number: int, due: float) -> None:
        async with connections:
            statuses[await take(update(number))] += 1
        waits.append(time.perf_counter() - due)

    async with asyncio.TaskGroup() as tasks:
        for number in range(int(seconds * A_SECOND)):
            due = began + number / A_SECOND
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            for _ in range(2 if number % TWICE_EVERY == 0 else 1):
                tasks.create_task(one(number, due))
    return sorted(waits), statuses


def judged(rows: Sequence[InboxRow], seconds: float) -> tuple[int, int, int]:
    """Return the numbers of messages missing, duplicated and out of order in the inbox."""
    numbers = [int(row.message.text.split()[0]) for row in rows]
    chats: defaultdict[str, list[int]] = defaultdict(list)
    for row, number in zip(rows, numbers, strict=True):
        chats[row.message.address.chat].append(number)
    lost = int(seconds * A_SECOND) - len(set(numbers))
    reordered = sum(held != sorted(held) for held in chats.values())
    return lost, len(numbers) - len(set(numbers)), reordered


async def measure(seconds: float) -> Outcome:
    """Deliver updates for *seconds* into a new store."""
    with tempfile.TemporaryDirectory() as folder:
        async with BotApi() as server:
            store = await SqliteStore.open(Path(folder) / "state.db")
            adapter = TelegramAdapter(
                "home", TOKEN, store.count, base_url=server.url, way=Webhook("https://bot.example.org/", SECRET)
            )
            receive = _reception(store).receive
            gc.freeze()  # as the gateway does after loading a channel
            waits, statuses = await bring(lambda body: adapter.take(SECRET, body, receive), seconds)
            lost, doubled, reordered = judged(await store.inbox.waiting(), seconds)
            await adapter.close()
            await store.close()
    return Outcome(int(seconds * A_SECOND), waits, statuses, lost, doubled, reordered)


def _reception(store: SqliteStore) -> Reception:
    groups = {str(-1000 - number): GroupPolicy(heard=50) for number in range(CHATS)}
    accounts = {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, groups)}
    routes = Routes([], AgentId("main"), Policy(frozenset({f"telegram:{OWNER}"}), accounts))
    clock = SystemClock()
    door = AdmissionGate(routes.policy, store, Rates(20, 10, clock.now), clock.now, lambda _: None)
    return reception_of(routes, store, lambda _key, _row: None, door)


async def run() -> list[Figure]:
    """Return the figures of this bench."""
    outcome = await measure(SHORT_S)
    wrong = outcome.lost + outcome.doubled + outcome.reordered
    return [
        Figure(f"webhook, {A_SECOND}/s: 99 % answered within", [outcome.wait_ms(0.99)], "ms", at_most(200)),
        Figure(f"webhook, {A_SECOND}/s: half answered within", [outcome.wait_ms(0.5)], "ms"),
        Figure("webhook: lost, doubled or out of order", [wrong], "messages", at_most(0)),
    ]


def main() -> None:
    """Print one run."""
    parser = argparse.ArgumentParser(prog="bench.webhook")
    parser.add_argument("--seconds", type=float, default=60)
    outcome = asyncio.run(measure(parser.parse_args().seconds))
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(f"{outcome.sent} updates at {A_SECOND}/s in {CHATS} chats, one in {TWICE_EVERY} twice")
    print(
        "answered within (ms): "
        + ", ".join(f"{share:.0%} {outcome.wait_ms(share):.1f}" for share in (0.5, 0.95, 0.99, 1))
    )
    statuses = ", ".join(f"{number} times {int(status)}" for status, number in outcome.statuses.items())
    print(f"answers: {statuses}")
    print(f"lost {outcome.lost}, doubled {outcome.doubled}, chats out of order {outcome.reordered}")


if __name__ == "__main__":
    main()
