"""State of one simulated world: plain data that outlives its gateways, and the decisions that its seed makes."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from tests.simulation.script import Saying, write_script

_FOLDER = re.compile(r"\S*/strandline-world-\w*")
"""A home's own folder in a sentence; the world is the same in another one."""
MOST_LIVES = 5
STEPS = {
    "store.commit": 100,
    "transcript.write": 40,
    "transcript.sync": 40,
    "file.write": 10,
    "file.sync": 20,
    "file.replace": 10,
    "history.commit": 10,
}
"""Durable steps, and about how many of each a life has."""
LAST_PATIENCE_S = 6 * 3_600.0
"""Virtual seconds without faults within which everything must be answered."""


class Doom(StrEnum):
    """How a gateway's life ends."""

    NONE = "none"
    """In good order, once all is done: the last life."""
    STOP = "stop"
    """In good order, at some time."""
    STEP = "step"
    """It dies before a step of its loop."""
    DURABLE = "durable"
    """It dies before a durable step."""
    TORN = "torn"
    """It dies in the middle of a write."""
    ACCEPTED = "accepted"
    """It dies after the platform has taken a message and before it learns of it."""


@dataclass(frozen=True, slots=True)
class Fate:
    """The end of one life."""

    doom: Doom
    at: float = 0.0
    """The number of the step, or the virtual seconds for a stop."""
    is_power_cut: bool = False
    """What was not synced may be lost."""
    step: str = ""
    """The only name of durable steps that count; empty for any."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One message that the platform took from us."""

    chat: int
    key: str
    turn: str
    text: str
    at: float


@dataclass
class World:
    """Everything but the home's files. A life works on a copy, and hands it back when it ends."""

    seed: int
    fifo: bool = False
    """Whether each loop takes its steps first come, first served."""
    now: float = 0.0
    lives: int = 0
    is_calm: bool = False
    script: list[Saying] = field(default_factory=list)
    said: int = 0
    pending: list[tuple[int, Saying]] = field(default_factory=list)
    """Updates that the gateway has not confirmed."""
    accepted: dict[int, float] = field(default_factory=dict)
    """When each numbered message was confirmed durable for the first time."""
    excused: set[int] = field(default_factory=set)
    """Numbers that need no answer: refused, or perhaps stopped."""
    shown: list[Shown] = field(default_factory=list)
    unsure: int = 0
    failed: set[int] = field(default_factory=set)
    marks: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    failure: str = ""
    steps: int = 0
    synced: dict[int, int] = field(default_factory=dict)
    """Bytes of each file, by its inode, that a power cut leaves."""
    durable_steps: int = 0
    serial: int = 0

    def __post_init__(self) -> None:
        choices = Random(f"{self.seed} world")
        self.faults = Random(f"{self.seed} faults")
        self.loop_choices = Random(f"{self.seed} loop")
        self.entropy = Random(f"{self.seed} entropy")
        self.script = write_script(choices)
        is_mild = choices.random() < 0.3
        self.disorder = 0.0 if self.fifo else choices.choice([0.0, 0.05, 0.5])
        self.model_fails = choices.choice([0.0, 0.05, 0.4])
        self.send_fails = 0.0 if is_mild else choices.choice([0.0, 0.05, 0.3])
        self.listen_fails = choices.choice([0.0, 0.05, 0.3])
        self.disk_fails = choices.choice([0.0, 0.0, 0.02, 0.3])
        self.mode = choices.choice(["follow_up", "follow_up", "collect", "steer", "interrupt"])
        self.session_memory = choices.choice([1, 2, 100])
        self.fates = [self._fate(choices) for _ in range(choices.randint(1, MOST_LIVES - 1))] + [Fate(Doom.NONE)]

    def _fate(self, choices: Random) -> Fate:
        doom = choices.choice(list(Doom)[1:])
        step = choices.choice(["", *STEPS]) if doom is Doom.DURABLE else ""
        at = {
            Doom.STOP: choices.uniform(1, 5_000),
            Doom.STEP: round(10 ** choices.uniform(1.5, 4.2)),
            Doom.DURABLE: choices.randint(1, STEPS.get(step, 150)),
            Doom.TORN: choices.randint(1, 60),
            Doom.ACCEPTED: choices.randint(1, 8),
        }[doom]
        return Fate(doom, at, choices.random() < 0.5, step)

    @property
    def fate(self) -> Fate:
        return self.fates[self.lives]

    def begin_life(self) -> None:
        """Set the counters of a life back."""
        self.durable_steps = 0
        self.is_calm = self.fate.doom is Doom.NONE

    def chat_of(self, number: int) -> int:
        """Return where message *number* was written."""
        return next(each.chat for each in self.script if each.number == number)

    def fresh(self) -> int:
        """Return a number that no life returns again."""
        self.serial += 1
        return self.serial

    def mark(self, name: str) -> None:
        """Note that a hard case has occurred."""
        self.marks[name] += 1
        self.note(f"* {name}")

    def note(self, event: str) -> None:
        """Add to the trace."""
        self.trace.append(f"{self.now:.6f} {self.steps} {_FOLDER.sub('', event)}")

    def digest(self) -> str:
        """Return a digest of all that happened."""
        return hashlib.blake2b("\n".join(self.trace).encode(), digest_size=8).hexdigest()

    def fail(self, why: str) -> None:
        """Note a broken promise; the first one counts."""
        self.note(f"! {why}")
        self.failure = self.failure or why


class Death(BaseException):
    """Never raised where it could be caught: `die` ends the process; this is for type checkers."""


@dataclass
class Disk:
    """A checkpoint that fails, writes half, and dies by the seed."""

    world: World
    die: Callable[[], None]
    trouble_until: float = 0.0
    is_torn: bool = False

    def __call__(self, step: str, size: int, /) -> int:
        world, fate = self.world, self.world.fate
        is_counted = bool(size) if fate.doom is Doom.TORN else fate.step in {"", step}
        world.durable_steps += is_counted
        world.note(f"disk {step} {size}")
        if self.is_torn:
            self.die()
        if fate.doom is Doom.DURABLE and is_counted and world.durable_steps == fate.at:
            world.mark(f"a death before {step}")
            self.die()
        if fate.doom is Doom.TORN and size and world.durable_steps == fate.at:
            self.is_torn = True
            world.mark(f"a death in the middle of {step}")
            return size // 2
        return size if world.is_calm else self._trouble(step, size)

    def _trouble(self, step: str, size: int) -> int:
        world, choices = self.world, self.world.faults
        if world.now < self.trouble_until:
            raise OSError(28, os.strerror(28))
        if choices.random() >= world.disk_fails / 20:
            return size
        if size > 1 and choices.random() < 0.4:
            world.mark("half is written, and the write goes on")
            return size // 2
        if choices.random() < 0.5:
            world.mark("the disk is full for a while")
            self.trouble_until = world.now + choices.uniform(0.1, 60)
            raise OSError(28, os.strerror(28))
        world.mark("the disk fails once")
        raise OSError(5, os.strerror(5))
