"""Settings that a chat changes at its owner's word: who the owner is, and the groups that are allowed."""

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


async def allow_group(home: Home, channel: str, account: str, chat: str) -> None:
    """Let the bot *account* answer in the group *chat* when it is mentioned. Raises ConfigError."""
    await asyncio.to_thread(set_values, home, {("channels", channel, account, "groups", chat, "mention"): True})
