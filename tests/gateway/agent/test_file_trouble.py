"""The owner hears of a disk that cannot be written, once, and again when it happens again."""

from datetime import timedelta

from gateway.agent.file_trouble import OVER_AFTER, Alarm, Cause
from gateway.errors import StoreError
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId

FULL = "a.md cannot be written: No space left on device"


class Owner:
    """Hears what is told, each key once, while the store can be written."""

    def __init__(self) -> None:
        self.heard: dict[str, str] = {}
        self.is_reachable = True
        self.clock = ManualClock()
        self.alarm = Alarm(AgentId("main"), self.tell, self.clock.now)

    async def tell(self, key: str, said: str) -> None:
        if not self.is_reachable:
            raise StoreError("full, too")
        self.heard.setdefault(key, said)

    def later(self, time: timedelta) -> None:
        self.clock.advance(time.total_seconds())


async def test_an_incident_is_told_once() -> None:
    """However often and wherever writing fails meanwhile, and though some of it succeeds."""
    owner = Owner()
    for _ in range(5):
        owner.alarm.troubled(Cause.FILES, FULL)
        owner.alarm.troubled(Cause.HISTORY, "no room for a commit")
        await owner.alarm.ring()
        owner.later(OVER_AFTER / 2)
        owner.alarm.worked(Cause.FILES)
        owner.alarm.worked(Cause.HISTORY)
    assert list(owner.heard.values()) == [
        f"Agent main has trouble with its files: {FULL}. It goes on by itself once that is mended."
    ]


async def test_the_next_incident_is_told_again() -> None:
    """When all that failed has worked again after a quiet time; one of two is not enough."""
    owner = Owner()
    owner.alarm.troubled(Cause.FILES, FULL)
    owner.alarm.troubled(Cause.HISTORY, "x")
    await owner.alarm.ring()
    owner.later(OVER_AFTER)
    owner.alarm.worked(Cause.FILES)
    owner.alarm.troubled(Cause.HISTORY, "x")
    await owner.alarm.ring()
    assert len(owner.heard) == 1
    owner.later(OVER_AFTER)
    owner.alarm.worked(Cause.HISTORY)
    owner.alarm.troubled(Cause.FILES, "another")
    await owner.alarm.ring()
    assert [said for said in owner.heard.values() if "another" in said]


async def test_what_could_not_be_told_is_told_later() -> None:
    """The same full disk holds the store: as soon as it takes the notice, the owner has it."""
    owner = Owner()
    owner.is_reachable = False
    owner.alarm.troubled(Cause.FILES, FULL)
    await owner.alarm.ring()
    owner.later(OVER_AFTER)
    owner.alarm.worked(Cause.FILES)
    owner.is_reachable = True
    await owner.alarm.ring()
    await owner.alarm.ring()
    assert len(owner.heard) == 1
