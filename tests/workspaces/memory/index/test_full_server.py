"""A real Qdrant server whose disk is full: a file system of its own, filled by the test."""

import random
from pathlib import Path

import pytest

from gateway.app.memory_worker import SERVER_PATIENCE_S
from tests.fakes.disk import fill, small_disk
from tests.fakes.qdrant_server import node
from tests.workspaces.memory.index.test_cluster import TRIES, Agent
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.index.settings import QdrantServer

DISK_MB = 256
SPARE = 1_000_000
"""Bytes left free: a Qdrant refuses writes below two of its log's files, which are 1 MB here."""


@pytest.mark.timeout(300)
async def test_a_full_disk_of_the_server_is_told_and_loses_no_note(tmp_path: Path) -> None:
    """Each search finds the newest note in time, by words, with the remedy; with room the index has everything."""
    with small_disk(tmp_path / "disk", DISK_MB) as disk, node(disk) as started:
        settings = WorkerSettings(embedder="none", qdrant=QdrantServer(started.url))
        async with WorkerClient(settings) as worker:
            agent = Agent(tmp_path, worker)
            for _ in range(60):
                agent.write()
            await agent.catches_up()
            agent.index.answers_within_s = SERVER_PATIENCE_S
            filler = fill(disk, SPARE)
            for _ in range(TRIES):
                await agent.finds(agent.write())
                await agent.finds(random.choice(agent.written))
            told = [each for each in agent.notices if "a disk of the Qdrant server is full: free space there" in each]
            assert told
            assert not any("\n" in each for each in told)
            print(f"{agent.by_words} of {2 * TRIES} searches were answered by words, {len(told)} with the remedy")
            filler.unlink()
            await agent.catches_up()
            await agent.is_answered_by_the_index()
            assert (await agent.index.status()).entries == len(agent.written)
