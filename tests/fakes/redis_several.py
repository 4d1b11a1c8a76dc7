"""Real Redis or Valkey servers that belong together: a cluster, or a primary with a sentinel."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import KEEPS_ALL, RedisServer, free_port

SLOTS = 16_384
PRIMARY = "strandline"
"""The sentinel's name of the primary."""


def until(is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Poll until *is_so*: servers do not announce agreement."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@dataclass(frozen=True)
class RedisCluster:
    """Primaries that share the slots evenly."""

    nodes: list[RedisServer]

    @property
    def url(self) -> str:
        """Address of the first node, whichever node has the data."""
        return self.nodes[0].url

    def owner(self, prefix: str) -> RedisServer:
        """Return the node with the keys of *prefix*, once there is one: during a failover there may be none."""
        slot, found = self._slot(prefix), list[RedisServer]()

        def is_kept() -> bool:
            for first, last, (_, port, *_), *_ in self.nodes[0].tell("CLUSTER", "SLOTS"):
                if first <= slot <= last:
                    found.append(next(node for node in self.nodes if node.port == port))
            return bool(found)

        until(is_kept)
        return found[0]

    def begin_move(self, prefix: str, to: RedisServer, keys: int) -> None:
        """Begin to move the slot of *prefix*, and this number of its keys."""
        slot, source = self._slot(prefix), self.owner(prefix)
        to.tell("CLUSTER", "SETSLOT", slot, "IMPORTING", source.tell("CLUSTER", "MYID"))
        source.tell("CLUSTER", "SETSLOT", slot, "MIGRATING", to.tell("CLUSTER", "MYID"))
        if names := source.tell("CLUSTER", "GETKEYSINSLOT", slot, keys):
            source.tell("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *names)

    def end_move(self, prefix: str, to: RedisServer) -> None:
        """Move the rest of the slot of *prefix*, and notify all nodes."""
        slot, source = self._slot(prefix), self.owner(prefix)
        if names := source.tell("CLUSTER", "GETKEYSINSLOT", slot, 100_000):
            source.tell("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *names)
        for node in (to, source, *self.nodes):
            node.tell("CLUSTER", "SETSLOT", slot, "NODE", to.tell("CLUSTER", "MYID"))

    def _slot(self, prefix: str) -> int:
        return int(self.nodes[0].tell("CLUSTER", "KEYSLOT", f"{{{prefix}}}"))


@contextmanager
def cluster(kind: str, backed: str | None = None) -> Iterator[RedisCluster]:
    """Run a cluster of three while the block runs; the node with the prefix *backed* has a replica, the last node."""
    options = (
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "2000",
        "--repl-diskless-sync-delay",
        "0",
        *KEEPS_ALL,
    )
    with ExitStack() as stack:
        nodes = []
        for _ in range(3):
            port, bus = free_port(), free_port()
            nodes.append(_started(stack, kind, port, *options, "--cluster-port", str(bus)))
            first = SLOTS * (len(nodes) - 1) // 3
            nodes[-1].tell("CLUSTER", "ADDSLOTSRANGE", first, SLOTS * len(nodes) // 3 - 1)
            nodes[-1].tell("CLUSTER", "SET-CONFIG-EPOCH", len(nodes))
            nodes[0].tell("CLUSTER", "MEET", "127.0.0.1", port, bus)
        until(lambda: all(_agrees(node, 3) for node in nodes))
        made = RedisCluster(nodes)
        if backed is not None:
            port, bus = free_port(), free_port()
            owner, replica = made.owner(backed), _started(stack, kind, port, *options, "--cluster-port", str(bus))
            nodes[0].tell("CLUSTER", "MEET", "127.0.0.1", port, bus)
            nodes.append(replica)
            until(lambda: all(_agrees(node, 4) for node in nodes))
            replica.tell("CLUSTER", "REPLICATE", owner.tell("CLUSTER", "MYID"))
            until(lambda: bool(replica.tell("INFO", "replication").get("master_link_status") == "up"))
        yield made


def _agrees(node: RedisServer, nodes: int) -> bool:
    about = node.tell("CLUSTER", "INFO")
    facts = about if isinstance(about, dict) else dict(line.split(":") for line in about.split())
    return bool(facts["cluster_state"] == "ok" and facts["cluster_known_nodes"] == str(nodes))


@dataclass(frozen=True)
class Watched:
    """A primary with a replica, watched by a sentinel."""

    primary: RedisServer
    replica: RedisServer
    sentinel: RedisServer

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{PRIMARY}/0"

    @property
    def named(self) -> RedisServer:
        """The primary according to the sentinel."""
        _, port = self.sentinel.tell("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY)
        return next(node for node in (self.primary, self.replica) if node.port == int(port))

    def fail_over(self) -> None:
        """Kill the primary once the other has everything; return once there are a primary and a replica again."""
        killed, heir = self._in_order()
        killed.tell("CLIENT", "PAUSE", 10_000, "WRITE")
        self.settle()
        killed.kill()
        self._succeed(killed, heir)

    def restart_replica(self) -> None:
        """End the replica in order, and start it again."""
        primary, replica = self._in_order()
        replica.stop()
        self._succeed(replica, primary)

    def restart_primary(self) -> None:
        """End the primary in order, and start it again as the replica of its heir."""
        primary, heir = self._in_order()
        primary.stop()
        self._succeed(primary, heir)

    def _succeed(self, ended: RedisServer, heir: RedisServer) -> None:
        """Start *ended* as the replica of *heir* once that is the primary; return once both are in step."""
        until(lambda: self.named is heir and heir.tell("INFO", "replication")["role"] == "master")
        ended.start("--replicaof", "127.0.0.1", str(heir.port))

        def is_backed() -> bool:  # on a busy machine the sentinel may have changed its mind
            primary, replica = (each.tell("INFO", "replication") for each in self._in_order())
            return bool(primary["role"] == "master" and replica.get("master_link_status") == "up")

        until(is_backed)

    def _in_order(self) -> tuple[RedisServer, RedisServer]:
        named = self.named
        return named, self.replica if named is self.primary else self.primary

    def settle(self) -> None:
        """Return once both have the same."""

        def has_all() -> bool:
            offsets = [node.tell("INFO", "replication") for node in (self.primary, self.replica)]
            return bool(offsets[0]["master_repl_offset"] == offsets[1]["master_repl_offset"])

        until(has_all)


@contextmanager
def watched(
    kind: str, password: str | None = None, sentinel_password: str | None = None, dead_after_ms: int = 500
) -> Iterator[Watched]:
    """Run the three while the block runs; the replica takes over two seconds after the primary counts as dead."""
    asked = ("--requirepass", password, "--masterauth", password) if password else ()
    with ExitStack() as stack:
        primary = _started(stack, kind, free_port(), "--repl-diskless-sync-delay", "0", *asked)
        replica = _started(stack, kind, free_port(), "--replicaof", "127.0.0.1", str(primary.port), *asked)
        primary.password = replica.password = password
        until(lambda: bool(replica.tell("INFO", "replication")["master_link_status"] == "up"))
        sentinel = _Sentinel(kind, _folder(stack), free_port(), primary, dead_after_ms)
        sentinel.protect(sentinel_password)
        sentinel.start()
        stack.callback(sentinel.kill)
        until(lambda: len(sentinel.tell("SENTINEL", "REPLICAS", PRIMARY)) == 1)
        yield Watched(primary, replica, sentinel)


class _Sentinel(RedisServer):
    ready = "+monitor master"

    def __init__(self, kind: str, folder: Path, port: int, watches: RedisServer, dead_after_ms: int) -> None:
        super().__init__(kind, folder, port=port)
        self._settings = folder / "sentinel.conf"
        self._settings.write_text(
            f"port {port}\ndir {folder}\nsentinel monitor {PRIMARY} 127.0.0.1 {watches.port} 1\n"
            f"sentinel down-after-milliseconds {PRIMARY} {dead_after_ms}\nsentinel failover-timeout {PRIMARY} 2000\n"
        )
        if watches.password:
            self._add(f'sentinel auth-pass {PRIMARY} "{watches.password}"')
        self._command = [self._command[0], str(self._settings), "--sentinel"]

    def protect(self, password: str | None) -> None:
        """Require *password* for every connection."""
        self.password = password
        if password:
            self._add(f'requirepass "{password}"')

    def _add(self, line: str) -> None:
        with self._settings.open("a") as file:
            file.write(f"{line}\n")


def _started(stack: ExitStack, kind: str, port: int, *options: str) -> RedisServer:
    server = RedisServer(kind, _folder(stack), *options, port=port)
    server.start()
    stack.callback(server.kill)
    return server


def _folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strandline-redis-")))
