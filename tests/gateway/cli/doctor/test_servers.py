"""What the doctor says of the servers that keep state: whether they can be reached, and whether they keep it."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from gateway.cli.doctor.servers import MANY_COLLECTIONS, check_servers, redis_findings
from gateway.config import Config
from gateway.control.finding import Level
from gateway.stores.redis.about import RedisAbout
from tests.fakes.qdrant_stub import QdrantStub
from tests.fakes.redis_server import KEEPS_ALL, KINDS, RedisServer, running
from tests.fakes.redis_several import cluster, watched
from tests.gateway.cli.doctor.patient import Patient

Told = list[tuple[str, str]]
"""Each finding's level, and what it says with how to mend it."""


@pytest.fixture(params=KINDS)
def redis(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with running(request.param, *KEEPS_ALL) as server:
        yield server


@pytest.fixture
def qdrant() -> Iterator[QdrantStub]:
    with QdrantStub() as stub:
        yield stub


def told(settings: dict[str, object], environ: dict[str, str] | None = None) -> Told:
    """Return what the doctor says of the servers in *settings*."""

    async def look() -> Told:
        findings = check_servers(Config.model_validate(settings), environ or {})
        return [(each.level.value, f"{each.detail} → {each.mend}") async for each in findings]

    return asyncio.run(look())


def test_a_redis_that_keeps_messages_is_said_to(redis: RedisServer) -> None:
    """Its version and how far its clock is off are told; nothing else is."""
    ((level, said),) = told({"redis": {"url": redis.url}})
    assert (level, said.startswith("Redis ")) == ("ok", True)
    assert "accepts writes, keeps a log and evicts nothing; its clock is off by " in said


def test_a_redis_that_would_lose_messages_fails_with_the_commands_that_help(redis: RedisServer) -> None:
    """Each trouble by itself, and what to type; where the owner accepts the loss they are warnings."""
    redis.tell("CONFIG", "SET", "appendonly", "no")
    redis.tell("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    redis.tell("REPLICAOF", "127.0.0.1", "1")
    for accepts, forgets in ((False, "fail"), (True, "warn")):
        found = told({"redis": {"url": redis.url, "accept_loss": accepts}})
        assert [level for level, _ in found] == ["fail", forgets, forgets]
        assert "is a replica, which accepts no writes → name the primary" in found[0][1]
        assert "CONFIG SET appendonly yes" in found[1][1]
        assert "allkeys-lru" in found[2][1]
        assert "CONFIG SET maxmemory-policy noeviction" in found[2][1]


def test_a_redis_that_lets_nobody_in_fails(redis: RedisServer, tmp_path: Path) -> None:
    """A wrong password, and a server that is not there."""
    redis.tell("CONFIG", "SET", "requirepass", "right")
    settings = {"url": redis.url, "password_env": "REDIS_PASSWORD"}
    ((level, said),) = told({"redis": settings}, {"REDIS_PASSWORD": "canary-wrong"})
    assert (level, "rejects the password" in said, "canary" in said) == ("fail", True, False)
    ((level, _),) = told({"redis": settings}, {"REDIS_PASSWORD": "right"})
    assert level == "ok"
    assert told({"redis": settings}) == []  # that the variable is missing is a finding of its own
    ((level, said),) = told({"redis": {"url": f"unix://{tmp_path}/nothing.sock"}})
    assert (level, "does not answer" in said) == ("fail", True)


def test_a_cluster_that_lacks_slots_fails() -> None:
    """It accepts no writes, whichever node is asked."""
    with cluster("redis") as slots:
        assert [level for level, _ in told({"redis": {"url": slots.url}})] == ["ok"]
        slots.nodes[0].tell("CLUSTER", "DELSLOTS", 0)
        ((level, said),) = told({"redis": {"url": slots.url}})
    assert (level, "its cluster accepts no writes now" in said) == ("fail", True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_primary_that_takes_writes_without_its_replica_is_told(kind: str) -> None:
    """Until both settings are as the finding says."""
    with watched(kind) as redis:
        redis.primary.tell("CONFIG", "SET", "appendfsync", "always")
        ((level, said),) = told({"redis": {"url": redis.url}})
        assert (level, "takes writes without it" in said) == ("warn", True)
        command = said.partition("CONFIG SET ")[2].partition(",")[0]
        redis.primary.tell("CONFIG", "SET", *command.split())
        assert [level for level, _ in told({"redis": {"url": redis.url}})] == ["ok"]


SOUND = RedisAbout("7.0.15", False, True, "always", False, "noeviction", 0.0, 0.01, "ok")


@pytest.mark.parametrize(
    ("found", "level", "says"),
    [
        (SOUND, Level.OK, "Redis 7.0.15"),
        (structs.replace(SOUND, version="6.2.14"), Level.FAIL, "7.0 or newer"),
        (structs.replace(SOUND, log_trouble=True), Level.FAIL, "could not write its log"),
        (structs.replace(SOUND, syncs="everysec"), Level.WARN, "CONFIG SET appendfsync always"),
        (structs.replace(SOUND, syncs=""), Level.OK, "keeps a log"),
        (structs.replace(SOUND, memory_share=0.95), Level.WARN, "95% of its memory limit"),
        (structs.replace(SOUND, ahead_s=-3.2), Level.WARN, "3.2 s behind"),
        (structs.replace(SOUND, ahead_s=2.5), Level.WARN, "2.5 s ahead of"),
    ],
)
def test_what_a_redis_says_of_itself_is_judged(found: RedisAbout, level: Level, says: str) -> None:
    """One finding for each trouble; a sound server has one that says so."""
    (finding,) = redis_findings(found, accepts_loss=False)
    assert finding.level is level
    assert says in f"{finding.detail} → {finding.mend}"


def test_a_qdrant_server_is_looked_at(qdrant: QdrantStub) -> None:
    """Its version, and how many of its collections are ours; more than Qdrant advises are told."""
    for name in ("strandline_main_new", "others_main_old"):
        qdrant.memory.create_collection(name, vectors_config={})
    settings: dict[str, object] = {"qdrant": {"url": qdrant.url, "api_key_env": "KEY"}}
    assert told(settings, {"KEY": "canary"}) == [("ok", "Qdrant 1.15.4, 1 of its 2 collections are ours → ")]
    for number in range(MANY_COLLECTIONS):
        qdrant.memory.create_collection(f"strandline_a{number}_new", vectors_config={})
    _, (level, said) = told(settings, {"KEY": "canary"})
    assert (level, said.split(" → ")[0]) == ("warn", "201 collections of ours, more than Qdrant advises")


@pytest.mark.parametrize(("ahead_s", "way"), [(180.0, "ahead of"), (-180.0, "behind")])
def test_a_qdrant_whose_clock_is_wrong_is_told(qdrant: QdrantStub, ahead_s: float, way: str) -> None:
    """No answer depends on it, so it is a warning."""
    qdrant.ahead_s = ahead_s
    (level, said), (after, _) = told({"qdrant": {"url": qdrant.url}})
    assert (level, after) == ("warn", "ok")
    assert re.search(rf"the clock of http://127.0.0.1:\d+ is 1[78]\d s {way} this machine's", said)
    assert "synchronise both clocks by NTP" in said


def test_each_node_of_a_cluster_is_looked_at(qdrant: QdrantStub) -> None:
    """One that is away fails, and the others answer; alone it would leave the files."""
    found = told({"qdrant": {"url": "http://127.0.0.1:1", "other_urls": [qdrant.url]}})
    assert [level for level, _ in found] == ["fail", "ok"]
    assert "the cluster's other nodes are asked" in found[0][1]


def test_an_authority_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Nothing is asked then."""
    settings = {"url": "https://127.0.0.1:1", "ca_file": str(tmp_path / "nothing.pem")}
    ((level, said),) = told({"qdrant": settings})
    assert (level, "qdrant.ca_file cannot be read" in said) == ("fail", True)


@pytest.mark.parametrize(("version", "level"), [("1.9.7", "fail"), ("1.10.0", "ok"), ("2.0.0", "fail")])
def test_a_qdrant_of_another_version_fails(qdrant: QdrantStub, version: str, level: str) -> None:
    """One that is too old, or of a major version that nobody has tried."""
    qdrant.version = version
    ((found, said),) = told({"qdrant": {"url": qdrant.url}})
    assert (found, "1.10 or a newer release of version 1" in said) == (level, level == "fail")


def test_a_qdrant_that_cannot_be_used_fails(qdrant: QdrantStub) -> None:
    """Nobody there, and somebody else there."""
    ((level, said),) = told({"qdrant": {"url": "http://127.0.0.1:1"}})
    assert (level, "does not answer" in said, "use keywords in the files" in said) == ("fail", True, True)
    qdrant.fails_with = 404
    ((level, said),) = told({"qdrant": {"url": qdrant.url}})
    assert (level, "is not Qdrant" in said) == ("fail", True)


def test_the_doctor_shows_them_before_anything_waits_for_them(patient: Patient) -> None:
    """A gateway is not composed for a server that cannot keep its messages: a start would try for half a minute."""
    config = f'[redis]\nurl = "unix://{patient.home.path}/nothing.sock"\n[owner]\ntime_zone = "UTC"\n'
    patient.home.config_file.write_text(config, "utf-8")
    status, out = patient.run("doctor", "--json")
    found = {each["check"]: each["level"] for each in json.loads(out)["findings"]}
    assert (status, found["redis"], "gateway" in found) == (1, "fail", False)
    assert patient.gateway.with_channels == []
