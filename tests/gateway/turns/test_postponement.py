"""How long a message waits for another attempt, and who is told."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from adapters.channel import Address, Allowance, InboundMessage
from gateway.admission.internal_channels import CLOCK, SUBAGENT, heartbeat_address
from gateway.admission.routing import Routes, route
from gateway.errors import ModelUnavailableError, StoreError
from gateway.runtime.lanes import RetryLater
from gateway.stores.rows import InboxRow
from gateway.turns.postponement import FIRST_RETRY_S, GIVE_UP_AFTER, LONGEST_RETRY_S, Postponement
from tests.gateway.turns.test_turn import DIRECT, MAIN, POLICY, House
from tests.gateway.turns.test_turn import house as house  # noqa: PLC0414  # a fixture

AWAY = ModelUnavailableError("away")


@dataclass
class Waiting:
    """A turn that waits, and what became of it."""

    words: str = ""
    given_up: list[bool] = field(default_factory=list)

    async def give_up(self) -> None:
        self.given_up.append(True)

    async def reminder(self) -> str:
        return self.words


async def postponed(
    house: House, row: InboxRow, turn: Waiting, exc: Exception = AWAY, told: list[tuple[str, bool]] | None = None
) -> RetryLater | None:
    """Postpone *row*, whose attempt failed by *exc*; *told* gets the reasons."""

    async def opened() -> Waiting:
        return turn

    def tell(_: InboxRow, why: str, lets_pass: bool) -> None:
        if told is not None:
            told.append((why, lets_pass))

    postponement = Postponement(house.store, house.clock.now, lambda _row, _rows: None, tell)
    return await postponement.postpone(row, route(row.message, Routes([], MAIN, POLICY)), exc, opened)


async def test_attempts_come_further_apart_until_it_is_given_up(house: House) -> None:
    """As far as the message has waited, within bounds; its sender is told once."""
    row, turn = await house.take_in(DIRECT), Waiting()
    for waited_s, delay_s in ((0, FIRST_RETRY_S), (60, 60.0), (3_600, LONGEST_RETRY_S)):
        house.clock.advance(waited_s - (house.clock.now() - row.received_at).total_seconds())
        later = await postponed(house, row, turn)
        assert later is not None
        assert (later.delay_s, later.lets_pass, turn.given_up) == (delay_s, True, [])
    assert len(await house.outbox()) == 1
    house.clock.advance(GIVE_UP_AFTER.total_seconds())
    assert await postponed(house, row, turn) is None
    assert turn.given_up == [True]


@pytest.mark.parametrize(
    ("message", "patience"),
    [
        (replace(DIRECT, address=heartbeat_address(MAIN), answers_to=DIRECT.address), timedelta(0)),
        (replace(DIRECT, address=Address(CLOCK, MAIN, "cron:1"), text="Remind your owner: tea"), timedelta(0)),
        (
            replace(DIRECT, address=Address(SUBAGENT, MAIN, "subagent:1"), allowance=Allowance(3, 100, 90)),
            timedelta(seconds=90),
        ),
    ],
    ids=["a heartbeat", "a reminder", "a subagent's task"],
)
async def test_what_nobody_typed_waits_as_long_as_it_makes_sense(
    house: House, message: InboundMessage, patience: timedelta
) -> None:
    """The next heartbeat comes anyway, a reminder is due now, and a task has the time of its turn."""
    row, turn = await house.take_in(message), Waiting()
    if patience:
        house.clock.advance(patience.total_seconds() - 1)
        assert await postponed(house, row, turn) is not None
        house.clock.advance(1)
    assert await postponed(house, row, turn) is None
    assert (turn.given_up, await house.outbox()) == ([True], [])


async def test_a_job_that_waits_reminds_its_owner_once(house: House) -> None:
    """In its own words, which need no model."""
    address = Address(CLOCK, MAIN, "cron:1")
    row = await house.take_in(replace(DIRECT, address=address, answers_to=DIRECT.address))
    for _ in range(2):
        assert await postponed(house, row, Waiting("Put the bins out.")) is not None
    (told,) = await house.outbox()
    assert told.startswith("Put the bins out.\n\n")


async def test_commands_pass_a_message_that_waits_for_its_model_alone(house: House) -> None:
    """A store that fails would fail for them too."""
    row, told = await house.take_in(DIRECT), list[tuple[str, bool]]()
    for exc in (AWAY, StoreError("full")):
        later = await postponed(house, row, Waiting(), exc, told)
        assert later is not None
        assert later.lets_pass == told[-1][1] == (exc is AWAY)


async def test_nothing_passes_where_the_notice_cannot_be_stored(house: House) -> None:
    """Whatever the attempt itself failed by."""
    row, told = await house.take_in(DIRECT), list[tuple[str, bool]]()
    await house.store.commits.run(lambda db: db.execute("PRAGMA query_only = ON").close())
    later = await postponed(house, row, Waiting(), AWAY, told)
    assert later is not None
    assert (later.lets_pass, told[0][1]) == (False, False)
