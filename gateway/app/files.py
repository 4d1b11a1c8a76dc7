"""Composes the handling of incoming and outgoing files: in the home's folders, within the configured limits."""

import asyncio
import time

from gateway.app.resources import Resources
from gateway.delivery.outgoing_files import Enclosures
from gateway.stores.disk import remove_older
from gateway.turns.attachments import Intake
from gateway.turns.downloads import Fetcher


def intake_of(resources: Resources) -> Intake:
    """Return the intake of messages' files."""
    home = resources.home
    folders = {agent: home.files.agent(agent).incoming for agent in resources.agents}
    for folder in folders.values():
        remove_older(folder, time.time())  # downloads begun by an earlier run start again
    fetcher = Fetcher(resources.channels.adapters, asyncio.to_thread, home.clock)
    return Intake(home.store, fetcher, folders, home.waker.wake, home.config.attachments)


def enclosures_of(resources: Resources) -> Enclosures:
    """Return the storage of files sent with answers."""
    home = resources.home
    folders = {agent: home.files.agent(agent).outgoing for agent in resources.agents}
    return Enclosures(folders, resources.channels.adapters.loaded, asyncio.to_thread, home.store.count)
