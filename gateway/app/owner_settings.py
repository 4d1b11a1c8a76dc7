"""Settings that a chat changes: who the owner is."""

import asyncio

from gateway.config.changes import set_values
from gateway.config.reading import read_config
from gateway.home import Home


async def add_owner(home: Home, person: str) -> None:
    """Add *person*, `<channel>:<id>`, to `owner.people`. Raises ConfigError."""

    def write() -> None:
        people = read_config(home.config_file).owner.people
        if person not in people:
            set_values(home, {("owner", "people"): [*people, person]})

    await asyncio.to_thread(write)
