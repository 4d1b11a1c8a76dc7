"""Findings: the outcomes of checks, and those that the state of a gateway tells by itself."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from gateway.control.probe_wire import ProbeAnswer
from gateway.control.status_wire import AgentStatus, MemoryStatus, Status

_NOT_PROBED = ProbeAnswer()


class Level(StrEnum):
    """Severity."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True):
    """The outcome of one check."""

    check: str
    level: Level
    detail: str
    mend: str = ""
    """Remedy."""


def findings_of(state: Status, probed: ProbeAnswer = _NOT_PROBED) -> Iterator[Finding]:
    """Yield the faults in *state*, without those that *probed* told already."""
    yield from _file_findings(state.agents)
    known = {fault for row in (*probed.models, *probed.channels) for fault in row.faults}
    yield from (Finding("unusable", Level.WARN, each) for each in state.troubles if each not in known)
    for each in state.repairs:
        yield Finding("repaired", Level.WARN, each)
    for each in state.waits_for:
        yield Finding("waiting", Level.WARN, each)
    if state.store_trouble:
        yield Finding("store", Level.WARN, state.store_away)
    if state.outbox_dead:
        yield Finding(
            "outbox",
            Level.WARN,
            f"{state.outbox_dead} undeliverable replies",
            "the notices in your chat say to whom and why",
        )
    if state.quarantined:
        detail = f"{state.quarantined} rows could not be processed and are in quarantine"
        yield Finding("quarantine", Level.WARN, detail, "strandline quarantine list")
    if state.approvals_waiting:
        detail = f"changes to agents' files that wait for you: {state.approvals_waiting}"
        yield Finding("approvals", Level.WARN, detail, "strandline approvals list")
    for channel in state.channels:
        if channel.reason and channel.reason not in known:
            level = Level.FAIL if channel.state == "refused" else Level.WARN
            yield Finding("channel", level, f"{channel.channel}.{channel.account}: {channel.state}: {channel.reason}")


def probe_findings(probed: ProbeAnswer) -> Iterator[Finding]:
    """Yield what each model, and each platform of a running gateway, has just said."""
    for check, rows in (("model", probed.models), ("bot", probed.channels)):
        for row in rows:
            yield from (Finding(check, Level.FAIL, fault) for fault in row.faults)
            if not row.faults:
                yield Finding(check, Level.OK, f"{row.name} {row.detail}")


def memory_findings(agent: str, memory: MemoryStatus) -> Iterator[Finding]:
    """Yield the faults of an agent's index."""
    for path, why in memory.skipped.items():
        yield Finding("memory", Level.WARN, f"agent {agent}: {path} is not indexed: {why}")
    for each in filter(None, (memory.foreign, memory.held)):
        yield Finding("memory", Level.WARN, f"agent {agent}: {each}")


def _file_findings(agents: Sequence[AgentStatus]) -> Iterator[Finding]:
    for agent in agents:
        if agent.history:
            detail = f"agent {agent.agent}: changes of its files are not recorded: {agent.history}"
            yield Finding(
                "history", Level.WARN, detail, "the files are safe; it resumes automatically once that is fixed"
            )
        if agent.left_out:
            detail = f"agent {agent.agent} skips {agent.left_out}"
            yield Finding("files", Level.WARN, detail, agent.left_out_mend)
        if agent.cut_files:
            detail = f"agent {agent.agent}, cut in its prompt: {agent.cut_files}"
            yield Finding("prompt", Level.WARN, detail, agent.cut_files_mend)
