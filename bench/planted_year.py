"""A year of notes with planted faults, written through the product's own history and transcripts.

The material in `bench/year` was written by hand; a seeded generator only chooses, dates and repeats it. Of the
audit that the check-up answers (10,134 entries of one agent, 97.8 % of them junk), 52.7 % were copies of instructions,
6.6 % a note that recall had fed back, 5.2 % invented profiles; of the rest most were doubles.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from pathlib import Path, PurePosixPath

from gateway.agent.entries import Entry, Mark, ReplyEntry, Usage, UsedEntry, UsedMemory, UserEntry
from gateway.home import Home
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from tests.journeys.house import make_home
from workspaces.access import AgentId, owner_access
from workspaces.history import EDITOR, History, Origin
from workspaces.memory.checkup.findings import FindingKind
from workspaces.notes import append_note
from workspaces.sections import Category, save_memory
from workspaces.workspace import Workspace

YEAR = Path(__file__).parent / "year"
FIRST = date(2025, 11, 3)
DAYS = 365
TODAY = FIRST + timedelta(days=DAYS + 10)
PROPORTIONS = {
    FindingKind.COPIED: 527,
    FindingKind.DOUBLE: 231,
    FindingKind.STALE: 88,
    FindingKind.LOOPED: 66,
    FindingKind.INVENTED: 52,
    FindingKind.OUTDATED: 36,
}
"""Planted faults by kind, of 1,000."""
_SESSION = "main/main"
_LATEST = 330
"""Day of the year until which plans are noted, so that they are over at its end."""
_SMALL_TALK = ("good morning", "what a day", "rain again", "thanks", "what is on today?", "ok")
_LEADS = ("The agent should ", "User wants that the agent should ", "Rule: ", "Agent: ", "Instructed to ", "")


@dataclass
class PlantedYear:
    """A home with a year of notes, and the faults in it."""

    home: Home
    planted: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Faulty lines by path and text."""
    kinds: dict[tuple[str, str], FindingKind] = field(default_factory=dict)

    def plant(self, path: str, line: str, kind: FindingKind) -> None:
        """Record that a line is a fault."""
        self.planted[path, line] += 1
        self.kinds[path, line] = kind


def material(name: str) -> list[str]:
    """Return the lines of a file of hand-written material, without headings."""
    lines = (YEAR / name).read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def plant_year(folder: Path, *, seed: int = 1, days: int = DAYS, faults: int = 1_000) -> PlantedYear:
    """Write a home with a year of notes, or *days* of it, and about *faults* faults."""
    home = make_home(folder)
    for name in ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "SOUL.md"):
        (home.agent("main").workspace / name).write_text((YEAR / name).read_text("utf-8"), "utf-8")
    year = PlantedYear(home)
    writer = _Writer(year, random.Random(seed), days)
    try:
        writer.write({kind: max(share * faults // 1_000, 1) for kind, share in PROPORTIONS.items()})
    finally:
        writer.close()
    return year


class _Writer:
    """Writes days in their order."""

    def __init__(self, year: PlantedYear, chance: random.Random, days: int) -> None:
        agent = year.home.agent("main")
        self._year, self._chance, self._days = year, chance, days
        self._workspace = Workspace.open(agent.workspace, AgentId("main"))
        self._access = owner_access(AgentId("main"), "bench")
        self._now = datetime.combine(FIRST, time(7), UTC)
        self._history = History.open(agent.history, self._workspace, lambda: self._now)
        agent.sessions.mkdir(parents=True, exist_ok=True)
        self._talk = (agent.sessions / "main.jsonl").open("wb")
        self._talk.write(header("main/main", self._now))
        self._numbers = count(1)
        self._slots = {
            name: values.split(", ") for name, _, values in (x.partition(": ") for x in material("slots.txt"))
        }
        self._noted: list[tuple[str, int, str]] = []
        """Notes of days that a recall may bring up: path, line, text."""
        self._lasting: list[tuple[Category, str]] = []

    def close(self) -> None:
        """Finish all files."""
        self._talk.close()
        self._history.record_all(None, None)
        self._workspace.folder.close()

    def write(self, faults: dict[FindingKind, int]) -> None:
        """Write all days with *faults*."""
        plan: dict[int, list[FindingKind]] = {}
        for kind, number in faults.items():
            for _ in range(number):
                last = min(_LATEST, self._days - 20) if kind is FindingKind.STALE else self._days - 1
                plan.setdefault(self._chance.randint(2, max(last, 3)), []).append(kind)
        lasting = material("lasting.txt")
        pairs = [tuple(part.strip() for part in line.split(" | ")) for line in material("outdated.txt")]
        self._changed = pairs[: faults[FindingKind.OUTDATED]]
        self._copied = list(self._copies())
        for number in range(self._days):
            self._now = datetime.combine(FIRST + timedelta(days=number), time(7), UTC)
            per_day = -(-len(lasting) // max(self._days // 3, 1))
            for line in lasting[number * per_day : (number + 1) * per_day]:
                section, _, text = line.partition(" | ")
                self._note_lasting(section, text)
                self._lasting.append((Category(section), text))
            if number == 1:
                for old, _ in self._changed:
                    self._note_lasting("notes", old)
            for _ in range(self._chance.randint(4, 8)):
                self._note_of_day()
            for kind in plan.get(number, ()):
                self._plant(kind)

    # --- what is right

    def _note_lasting(self, section: str, text: str, who: Origin | None = None) -> str:
        turn = self._turn(text)
        receipt = save_memory(self._workspace, self._access, text, Category(section))
        self._record(receipt.path, who or turn)
        return f"- {text}"

    def _note_of_day(self) -> None:
        text = self._filled(self._chance.choice(material("days.txt")))
        if any(path.endswith(f"{self._now.date()}.md") and text == known for path, _, known in self._noted):
            return  # nobody notes the same twice on a day
        path, line, _ = self._add(text, self._chance.choice(["turn", "turn", "flush", "owner"]), said=text)
        self._noted.append((path, line, text))

    def _filled(self, form: str) -> str:
        chance = self._chance
        for name, values in self._slots.items():
            while f"{{{name}}}" in form:
                form = form.replace(f"{{{name}}}", chance.choice(values), 1)
        for name, least, most in (("n", 2, 40), ("m", 12, 990), ("h", 6, 22)):
            form = form.replace(f"{{{name}}}", str(chance.randint(least, most)))
        return form

    # --- what is wrong

    def _plant(self, kind: FindingKind) -> None:
        match kind:
            case FindingKind.COPIED:
                self._faulty(kind, self._copied[next(self._numbers) % len(self._copied)])
            case FindingKind.INVENTED:
                self._faulty(kind, self._chance.choice(material("invented.txt")))
            case FindingKind.STALE:
                self._plant_stale()
            case FindingKind.OUTDATED:
                if self._changed:
                    old, new = self._changed.pop()
                    self._note_lasting("notes", new)
                    self._year.plant("MEMORY.md", f"- {old}", kind)
            case FindingKind.LOOPED:
                self._plant_loop()
            case _:
                self._plant_double()

    def _faulty(self, kind: FindingKind, text: str) -> None:
        """Write a line of which nobody said anything, into the day's notes or into `MEMORY.md`."""
        if self._chance.random() < 0.2:
            turn = self._turn(self._chance.choice(_SMALL_TALK))
            receipt = save_memory(self._workspace, self._access, text, self._chance.choice(list(Category)))
            self._record(receipt.path, turn)
            self._year.plant("MEMORY.md", f"- {text}", kind)
            return
        path, _, raw = self._add(text, self._chance.choice(["turn", "flush"]), said=self._chance.choice(_SMALL_TALK))
        self._year.plant(path, raw, kind)

    def _copies(self) -> Iterator[str]:
        """Yield copies of instructions: word for word, with a lead, in part, and in other words by hand."""
        lines = [
            line.removeprefix("- [ ] ").removeprefix("- ")
            for name in ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md")
            for line in material(name)
            if line.startswith("- ")
        ]
        for line in [*lines, *material("reworded.txt"), *lines]:
            chance = self._chance.random()
            if chance < 0.5 or line not in lines:
                yield line
            elif chance < 0.8:
                yield f"{self._chance.choice(_LEADS)}{line[0].lower()}{line[1:]}"
            else:
                first = line.partition(", ")[0]
                yield f"{first.rstrip('.')}." if len(first.split()) > 4 else line

    def _plant_stale(self) -> None:
        text = self._chance.choice(material("stale.txt"))
        day = self._now.date() + timedelta(days=self._chance.randint(3, 24))
        shown = self._chance.choice([f"{day:%-d %B}", f"{day:%-d %B %Y}", f"{day}", f"{day:%B %-d}"])
        line = self._note_lasting(self._chance.choice(["notes", "projects"]), text.replace("{d}", shown))
        self._year.plant("MEMORY.md", line, FindingKind.STALE)

    def _plant_loop(self) -> None:
        path, number, text = self._chance.choice(self._noted)
        asked = self._filled("what was it again with {p} and the {t}?")
        turn = self._turn(asked, UsedEntry((UsedMemory(f"{path}#L{number}-L{number}", "recall", 0.7),)))
        receipt = append_note(self._workspace, self._access, text, self._later())
        self._record(receipt.path, turn)
        self._year.plant(str(receipt.path), self._raw(receipt.path, receipt.line), FindingKind.LOOPED)

    def _plant_double(self) -> None:
        chance = self._chance.random()
        if chance < 0.15:
            path, _, raw = self._add(text := self._filled(self._chance.choice(material("days.txt"))), "turn", said=text)
            self._add(text, "flush", said="ok", at=raw[2:7])
            self._year.plant(path, raw, FindingKind.DOUBLE)
            return
        section, text = self._chance.choice(self._lasting)
        if chance < 0.75:
            turn = self._turn(self._chance.choice(_SMALL_TALK))
            receipt = save_memory(self._workspace, self._access, other := self._reworded(text), section)
            self._record(receipt.path, turn)
            self._year.plant("MEMORY.md", f"- {other}", FindingKind.DOUBLE)
            return
        path, _, raw = self._add(text, "flush", said=self._chance.choice(_SMALL_TALK))
        self._year.plant(path, raw, FindingKind.DOUBLE)

    def _reworded(self, text: str) -> str:
        by_hand = {said: other for other, _, said in (line.partition(" | ") for line in material("doubles.txt"))}
        first, comma, rest = text.rstrip(".").partition(", ")
        match self._chance.randint(0, 4):
            case 0:
                return by_hand.get(text, text)
            case 1:
                return text.rstrip(".")
            case 2:
                return f"User: {text[0].lower()}{text[1:]}"
            case 3 if comma:
                return f"{rest[0].upper()}{rest[1:]}, {first[0].lower()}{first[1:]}."
            case _:
                return text

    # --- writing

    def _add(self, text: str, who: str, *, said: str, at: str = "") -> tuple[str, int, str]:
        """Add a note of the day, written by *who*; return path, line and its text in the file."""
        turn = self._turn(said)
        moment = datetime.combine(self._now.date(), time.fromisoformat(at), UTC) if at else self._later()
        receipt = append_note(self._workspace, self._access, text, moment)
        self._record(receipt.path, {"turn": turn, "flush": Origin(_SESSION, others=False)}.get(who, EDITOR))
        return str(receipt.path), receipt.line, self._raw(receipt.path, receipt.line)

    def _raw(self, path: PurePosixPath, line: int) -> str:
        return self._workspace.read(path, self._access).whole.split("\n")[line - 1]

    def _later(self) -> datetime:
        self._now += timedelta(minutes=self._chance.randint(1, 25))
        return self._now

    def _turn(self, said: str, *marks: Mark) -> Origin:
        """Write a turn in which the owner says something, and return its origin."""
        turn = f"t{next(self._numbers)}"
        at = self._later()
        reply = ReplyEntry("Done.", (), "stub", Usage())
        entries: list[Entry | Mark] = [UserEntry(said, at, "", turn), *marks, reply]
        for entry in entries:
            self._talk.write(to_line(Record(TurnId(turn), at, entry)))
        return Origin(_SESSION, turn=turn, others=False)

    def _record(self, path: PurePosixPath, origin: Origin) -> None:
        self._history.record([path], None, origin)
