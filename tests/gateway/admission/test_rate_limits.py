"""Who writes too fast waits, and bots that talk to each other stop."""

from gateway.admission.rate_limits import PEOPLE_KNOWN, LoopGuard, Rates
from tests.fakes.clock import ManualClock


def test_a_burst_goes_in_and_then_so_many_a_minute() -> None:
    """Ten at once, then one every three seconds; a pause fills the bucket again and no more than that."""
    clock = ManualClock()
    rates = Rates(20, 10, clock.now)
    assert [rates.take("eve") for _ in range(12)] == [True] * 10 + [False] * 2
    clock.advance(3.1)
    assert [rates.take("eve") for _ in range(2)] == [True, False]
    clock.advance(3600)
    assert sum(rates.take("eve") for _ in range(50)) == 10


def test_one_person_does_not_hold_up_another() -> None:
    """Each has a bucket of their own."""
    rates = Rates(20, 1, ManualClock().now)
    assert [rates.take(each) for each in ("eve", "eve", "sam")] == [True, False, True]


def test_a_person_is_told_once_until_they_have_paused() -> None:
    """The notice comes again only after the bucket was full again."""
    clock = ManualClock()
    rates = Rates(60, 2, clock.now)
    told = []
    for _ in range(4):
        rates.take("eve")
        told.append(rates.should_tell("eve"))
        clock.advance(0.5)
    assert told == [True, False, False, False]
    clock.advance(60)
    assert rates.take("eve")
    assert rates.should_tell("eve")


def test_a_flood_of_people_takes_no_more_memory() -> None:
    """Who wrote longest ago is forgotten first."""
    rates = Rates(1, 1, ManualClock().now)
    for number in range(PEOPLE_KNOWN + 1):
        assert rates.take(str(number))
    assert rates.take("0")
    assert not rates.take(str(PEOPLE_KNOWN))


def test_a_person_who_keeps_writing_is_not_forgotten() -> None:
    """A flood of others does not refill their bucket: the person silent for longest is evicted."""
    rates = Rates(1, 1, ManualClock().now)
    for number in range(PEOPLE_KNOWN):
        assert rates.take(str(number))
    assert not rates.take("0")
    assert rates.take(str(PEOPLE_KNOWN))
    assert not rates.take("0")


def test_a_clock_that_goes_back_gives_no_tokens_and_takes_none() -> None:
    """A corrected clock is no reason to keep anybody out for longer."""
    clock = ManualClock()
    rates = Rates(60, 2, clock.now)
    assert rates.take("eve")
    clock.advance(-3600)
    assert [rates.take("eve") for _ in range(2)] == [True, False]
    clock.advance(1)
    assert rates.take("eve")


def test_bots_get_so_many_turns_until_a_human_speaks() -> None:
    """In each chat for itself."""
    guard = LoopGuard()
    assert [guard.bot("here", 2) for _ in range(3)] == [True, True, False]
    assert guard.bot("there", 2)
    guard.human("here")
    assert [guard.bot("here", 2) for _ in range(3)] == [True, True, False]
