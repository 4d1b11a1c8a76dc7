"""`/heartbeat`: the agent's checklist, and whether its heartbeat runs."""

from collections.abc import Iterator

from gateway.automation.heartbeat_status import HeartbeatStatus
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted
from gateway.errors import ToolError

_STATES = {
    "on": "My heartbeat is on.",
    "off": "My heartbeat is off; `/heartbeat on` starts it.",
    "stopped": "My heartbeat stopped after repeated failures; `/heartbeat on` starts it.",
    "never": "The configuration allows no heartbeat: see `every` and `active` under `[agents.<name>.heartbeat]`.",
    "no_model": "A heartbeat needs a language model, and I have none.",
    "no_route": "I know no direct chat of yours to answer in: write to me directly, or set `deliver` under `[owner]`.",
}


def heartbeat_commands(parts: CommandResources) -> list[Command]:
    """Return `/heartbeat`, which shows the state of the agent's heartbeat, turns it on or off, or runs it at once."""

    async def run(call: CommandCall) -> str:
        agent, heartbeats = call.access.agent, parts.heartbeats
        match call.arguments.lower():
            case "":
                pass
            case "on" | "off" as wanted:
                await heartbeats.switch(agent, on=wanted == "on")
            case "now":
                return _check_result(await heartbeats.now(agent))
            case _:
                raise ToolError("say `/heartbeat`, `/heartbeat on`, `/heartbeat off` or `/heartbeat now`")
        return "\n".join(_lines(await heartbeats.standing(agent), call))

    said = "show my heartbeat and its checklist, or switch it: `on`, `off`, `now`"
    return [Command("heartbeat", "[word]", said, Who.MAIN, False, run)]


def _check_result(count: int) -> str:
    if not count:
        return "There is nothing for me to check now; `/heartbeat` says why."
    return f"I am checking {counted(count, 'item')} now, and will tell you what you should know."


def _lines(stands: HeartbeatStatus, call: CommandCall) -> Iterator[str]:
    zone = call.now.tzinfo
    yield f"{_STATES[stands.state]} {counted(stands.items, 'item')} on my list (`HEARTBEAT.md`)."
    yield from (f"- I cannot process {fault}" for fault in stands.faults)
    if stands.last_run is not None:
        yield f"- last run {stands.last_run.astimezone(zone):%Y-%m-%d %H:%M}: {stands.outcome or 'cut off'}"
    if stands.failures:
        yield f"- {counted(stands.failures, 'failure')} in a row"
    if stands.next_look is not None:
        yield f"- the next item may be due at {stands.next_look.astimezone(zone):%Y-%m-%d %H:%M}"
