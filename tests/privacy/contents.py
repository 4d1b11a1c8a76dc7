"""Content shared by two worlds, and content known only to their owners."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

OWN, GUESTS = "memory/shared/telegram.home.-100", "memory/shared/telegram.home.99"
WORDS = ("heron", "kingfisher", "harbour", "diagnosis", "salary", "vault", "passport", "clinic", "lawyer", "garden",
         "boat", "bicycle", "anchor", "lantern", "ledger", "orchard", "winter", "copper", "violin")  # fmt: skip
"""Both shared and private notes are made of these, so that rarity, ties and repetitions are put to the test."""
SHARED = {
    f"{OWN}/2026-02-27.md": "# 2026-02-27\n\n- 09:00 the boat leaves the harbour at ten\n- 09:30 Sam: shall we paint "
    "the lantern?\n- 09:31 main: copper green, as in winter\n- 10:00 ticket AB-1204 is about the anchor\n",
    f"{OWN}/2026-02-28.md": "# 2026-02-28\n\n- 11:00 the garden needs a bicycle shed\n- 11:00 the orchard is for sale\n"
    "- 11:00 the cellar is for sale\n- 11:00 the saddle is for sale\n- 12:00 the lawyer's violin is marble\n",
    f"{OWN}/2026-03-01.md": "# 2026-03-01\n\n- 08:00 thunder, so no boat\n- 08:05 pepper for the willow soup\n",
    f"{GUESTS}/2026-03-01.md": "# 2026-03-01\n\n- 08:10 this guest collects velvet ledgers\n",
    "skills/boat/SKILL.md": "# Boat\n\nHow to tie a boat to the harbour wall.\n",
}
"""What stands in both worlds: the notes of the chats that listen, and what every chat may see."""
LINES = tuple(line for text in SHARED.values() for line in text.splitlines() if line.startswith("- "))


@dataclass(frozen=True, slots=True)
class Secret:
    """What one world's owner knows: its own files, and a stream of things that they do meanwhile."""

    seed: int
    size: int
    """About how many private files and messages there are."""

    def files(self) -> dict[str, str]:
        """Return the private files by path: of no other world the same."""
        rng = random.Random(self.seed)
        found = {
            "MEMORY.md": f"# Memory\n\n## Profile\n\n{items(rng, self.size)}",
            "USER.md": f"Born on {sentence(rng)}.\n",
            "HEARTBEAT.md": f"- [ ] {sentence(rng)}\n",
            "memory/shared/telegram.home.-200/2026-02-28.md": f"# 2026-02-28\n\n{items(rng, self.size)}",
            "memory/shared/telegram.home.98/2026-02-28.md": f"# 2026-02-28\n\n{items(rng, 2)}",
        }
        for number in range(self.size):
            found[f"memory/2026-{rng.randint(1, 2):02}-{rng.randint(1, 28):02}.md"] = items(rng, rng.randint(1, 9))
            found[f"memory/2026-02-{rng.randint(1, 28):02}-{rng.choice(WORDS)}.md"] = items(rng, 3)
            found[f"{rng.choice(('private', 'attachments', 'plans'))}/{rng.choice(WORDS)}{number}.md"] = sentence(rng)
        return found

    def texts(self) -> Iterator[str]:
        """Yield paths, lines and words that somebody might guess."""
        for path, text in self.files().items():
            yield path
            yield from (line.removeprefix("- ") for line in text.splitlines()[:3] if line)


def items(rng: random.Random, count: int) -> str:
    """Return list items; every third repeats one that a group has too, word for word."""
    return "".join(
        f"{rng.choice(LINES)}\n" if rng.random() < 0.34 else f"- {rng.randint(8, 20):02}:15 {sentence(rng)}\n"
        for _ in range(count)
    )


def sentence(rng: random.Random) -> str:
    """Return a few words with a number that nobody else has."""
    return f"the {rng.choice(WORDS)} of {rng.choice(WORDS)} {rng.randrange(10**6)} {rng.choice(WORDS)}"
