"""`strandline status`: running components, queues, and dropped messages with their reasons."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from gateway.cli.call import JsonCall
from gateway.cli.connect import reach
from gateway.cli.invocation import Invocation, plain_fields
from gateway.control.cron_wire import JobsStatus
from gateway.control.spending_text import spending_lines
from gateway.control.status_wire import AgentStatus, MemoryStatus, Status, StatusOrder
from gateway.home import Home
from workspaces.memory.search_notes import progress_text


def status(call: JsonCall) -> None:
    """Show running components, queues and dropped messages. Works without a running gateway too."""
    place = call.home
    state, address, fault = asyncio.run(_ask(call.invocation, place))
    facts = {"running": address is not None, "address": address, "settings_fault": fault, **plain_fields(state)}
    call.print(facts, _lines(state, address, fault, call.invocation.command("up", place)))


async def _ask(invocation: Invocation, home: Home) -> tuple[Status, str | None, str]:
    """Return the state, the running gateway's address, and why it has not taken up the settings in its files."""
    async with reach(invocation, home, "strandline status") as reached:
        state, control = await reached.operator.ask(StatusOrder()), home.control()
        if reached.address is None or control is None:
            return state, reached.address, ""
        from gateway.control.remote import running_settings  # loaded already

        report = await running_settings(control)
        return state, reached.address, report.fault if report else ""


def _lines(state: Status, address: str | None, fault: str, start: str) -> Iterator[str]:
    yield f"gateway   {_gateway(state, address, start)}"
    yield f"home      {state.home}"
    if fault:
        yield f"settings  the earlier ones stay in force: {fault}"
    yield f"time zone {state.time_zone} (from {state.time_zone_source})"
    for agent in state.agents:
        yield from _agent(agent, has_store=not state.store_trouble)
    for channel in state.channels:
        yield f"channel   {channel.channel}.{channel.account}: {channel.state}{_parenthesised(channel.reason)}"
        yield from (f"          {note}" for note in channel.notes)
    yield from _waiting(state)
    for subagent in state.helpers:
        yield f"subagent  {subagent}"
    yield from (f"waits     {each}" for each in state.waits_for)
    yield from _oddities(state)


def _waiting(state: Status) -> Iterator[str]:
    known = ""
    if state.store_trouble:
        yield f"store     {state.store_away}"
        yield "          messages wait at their platforms until it is back"
        known = ", as far as this gateway knows"
    if not (state.store_trouble and state.standby):
        yield f"inbox     {state.inbox_waiting} waiting{known}"
    for agent in state.agents:
        if agent.waiting:
            yield f"          {agent.waiting} for {agent.agent}, the oldest for {agent.oldest_waiting_s:.0f} s"
    if not state.store_trouble:
        yield f"outbox    {state.outbox_queued} queued, {state.outbox_dead} undeliverable"
        yield f"approvals {state.approvals_waiting} waiting"
    elif not state.standby:
        yield f"outbox    {state.outbox_queued} queued{known}"


def _agent(agent: AgentStatus, *, has_store: bool) -> Iterator[str]:
    yield f"agent     {agent.agent}: model {agent.model}; {memory_line(agent.memory)}"
    for path, reason in agent.memory.skipped.items() if agent.memory else ():
        yield f"          not indexed: {path}: {reason}"
    if agent.recall:
        yield f"          {agent.recall}"
    if has_store:
        yield f"heartbeat {agent.agent}: {agent.heartbeat}"
    for fault in agent.heartbeat.faults:
        yield f"          cannot process {fault}"
    if agent.history:
        yield f"          changes to files are not recorded: {agent.history}"
    if agent.left_out:
        yield f"          skipped: {agent.left_out}; to fix it: {agent.left_out_mend}"
    if agent.cut_files:
        yield f"          cut in its prompt: {agent.cut_files}; to fix it: {agent.cut_files_mend}"
    yield from (f"          spent today: {line}" for line in spending_lines(agent.spending))
    if agent.jobs != JobsStatus():
        yield f"jobs      {agent.agent}: {agent.jobs}"


def _oddities(state: Status) -> Iterator[str]:
    if state.quarantined:
        yield f"quarantine {state.quarantined} could not be processed: strandline quarantine list"
    for unsure in state.unsure:
        yield f"unsure    {unsure.at:%Y-%m-%d %H:%M:%S} part {unsure.part + 1} to {unsure.address}: {unsure.why}"
    for each in state.assumed:
        yield f"assumed   {each}"
    for each in state.troubles:
        yield f"unusable  {each}"
    for repair in state.repairs:
        yield f"repaired  {repair}"
    for reason, count in sorted(state.reasons.items()):
        yield f"counted   {reason}: {count:,}"


def _gateway(state: Status, address: str | None, start: str) -> str:
    if address is None:
        return f"not running; start it: {start}"
    loading = f", still loading: {', '.join(state.loading)}" if state.loading else ""
    up = timedelta(seconds=int(state.uptime_s))
    return f"{standing(state)} at {address}, version {state.version}, up {up}{loading}"


def standing(state: Status) -> str:
    """Return in a word or two whether a gateway accepts messages."""
    why = "waiting, see below" if state.waits_for else "every agent has its gateway"
    return "ready" if state.ready else f"on standby ({why})" if state.standby else "starting"


def memory_line(memory: MemoryStatus | None) -> str:
    """Return the state of an index in a few words."""
    if memory is None:
        return "memory: at rest; the next search starts it"
    if memory.away:
        return f"memory: {memory.away}; searches read the files meanwhile"
    entries = "1 entry" if memory.entries == 1 else f"{memory.entries:,} entries"
    embedder = f" by {memory.embedder}" if memory.embedder else ""
    found = f"memory: {entries}, {memory.mode} search{embedder}{_parenthesised(memory.reason)}"
    owing = f"; {memory.owing:,} wait for a vector from the provider" if memory.owing else ""
    if memory.held:
        owing += f"; {memory.held}"
    if memory.indexing:
        return f"{found}{owing}; indexing: {progress_text(memory.indexing)}"
    return f"{found}{owing}{'; not all notes are indexed yet' if memory.rebuilding else ''}"


def _parenthesised(reason: str) -> str:
    return f" ({reason})" if reason else ""
