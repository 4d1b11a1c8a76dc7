"""The state of a gateway in a few lines of Markdown, for an owner away from the terminal."""

from collections.abc import Iterator
from datetime import timedelta

from gateway.control.cron_wire import JobsStatus
from gateway.control.spending_text import spending_lines
from gateway.control.status_wire import AgentStatus, Status


def brief(state: Status) -> str:
    """Return *state* as a short text; it names faults, and omits parts without one."""
    return "\n".join(_lines(state))


def _lines(state: Status) -> Iterator[str]:
    loading = f", still loading {', '.join(state.loading)}" if state.loading else ""
    up = timedelta(seconds=int(state.uptime_s))
    yield f"Strandline {state.version} is {'ready' if state.ready else 'starting'}, up {up}{loading}."
    yield from (f"- agent `{agent.agent}`: {_agent(agent)}" for agent in state.agents)
    for agent in state.agents:
        if agent.spending:
            yield f"- `{agent.agent}` spent today: {'; '.join(spending_lines(agent.spending))}"
    for channel in state.channels:
        reason = f" ({channel.reason})" if channel.reason else ""
        yield f"- channel `{channel.channel}.{channel.account}`: {channel.state}{reason}"
        yield from (f"  - {note}" for note in channel.notes)
    if state.store_trouble:
        yield f"- store {state.store_away}"
    # The requesting message is among the waiting ones.
    waiting = max(state.inbox_waiting - 1, 0)
    yield f"- {waiting} messages and {state.outbox_queued} replies wait; {state.outbox_dead} could not be delivered"
    if state.approvals_waiting:
        changes = "1 change waits" if state.approvals_waiting == 1 else f"{state.approvals_waiting} changes wait"
        yield f"- {changes} for you: `/approve` lists them"
    if state.quarantined:
        yield f"- {state.quarantined} in quarantine: see `strandline quarantine list`"
    yield from (f"- running subagent: {subagent}" for subagent in state.helpers)
    yield from (f"- waits: {each}" for each in state.waits_for)
    yield from (f"- assumed: {each}" for each in state.assumed)
    yield from (f"- not usable: {each}" for each in state.troubles)
    yield from (f"- repaired: {repair}" for repair in state.repairs)
    if state.reasons:
        counted = ", ".join(f"{reason} {count:,}" for reason, count in sorted(state.reasons.items()))
        yield f"- counted: {counted}"


def _agent(agent: AgentStatus) -> str:
    parts = [f"model `{agent.model}`"]
    if agent.memory is not None and agent.memory.away:
        parts.append(f"memory: {agent.memory.away}; searches read the files meanwhile")
    elif agent.memory is not None:
        reason = f" ({agent.memory.reason})" if agent.memory.reason else ""
        entries = agent.memory.entries
        parts.append(f"{entries:,} {'memory' if entries == 1 else 'memories'}, {agent.memory.mode} search{reason}")
        parts += [f"not indexed: {path}" for path in agent.memory.skipped]
    if agent.recall:
        parts.append(agent.recall)
    if agent.heartbeat.items or agent.heartbeat.failures:
        parts.append(f"heartbeat {agent.heartbeat}")
    if agent.jobs != JobsStatus():
        parts.append(f"jobs: {agent.jobs}")
    parts += [f"heartbeat cannot process {fault}" for fault in agent.heartbeat.faults]
    if agent.history:
        parts.append(f"changes to files are not recorded: {agent.history}")
    if agent.left_out:
        parts.append(f"skipped: {agent.left_out}; to fix it: `{agent.left_out_mend}`")
    if agent.cut_files:
        parts.append(f"cut in its prompt: {agent.cut_files}; to fix it: {agent.cut_files_mend}")
    return ", ".join(parts)
