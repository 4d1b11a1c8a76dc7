"""`strandline hooks …`: the owner's hooks, their order, and trial runs."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from gateway.cli.call import Call, JsonCall
from gateway.cli.command_group import command_app
from gateway.control.status_wire import disabled_line
from gateway.errors import ConfigError
from gateway.runtime.escape import visible

if TYPE_CHECKING:
    from gateway.hooks import Hook, HookEvent

app = command_app("Manage hooks, your own code: list, test, enable.")

FAILED = 1


@app.command(name="list")
def list_(call: JsonCall) -> None:
    """List hooks in the order in which they run, and the rule for failures."""
    found = [_facts(hook) for hook in _hooks(call)]
    call.print({"hooks": found}, map(_line, found), "There are no hooks; to write one: strandline docs hooks")


@app.command()
def enable(call: JsonCall) -> None:
    """Enable the hooks and tool-server commands of a restored backup, from the next start on. Read them first."""
    place = call.home
    enabled = place.disabled()
    place.disabled_code.unlink(missing_ok=True)
    last = "They run from the next start of the gateway." if enabled else "No hook or tool server is disabled."
    call.print({"enabled": enabled}, [*(f"enabled  {each}" for each in enabled), last])


@app.command(name="test")
def try_out(
    call: JsonCall,
    source: Annotated[str, typer.Argument(help="Name of a hook, as shown by `list`, such as team.py:team_rules.")],
    payload: Annotated[str, typer.Option(help="JSON object with fields to set in the sample payload.")] = "{}",
) -> None:
    """Run one hook, for real, with a sample payload, and show the changes it would make. Nothing reaches a chat."""
    from gateway.hooks import event_of

    hook = _find_hook(_hooks(call), source)
    event = event_of(hook.event)
    if event is None:
        raise ConfigError(f"{hook.event} is not an event")
    trial = asyncio.run(_run_trial(hook, event, _parse_payload(payload)))
    call.print(trial.as_json(event), trial.lines(event))
    if trial.failure:
        raise typer.Exit(FAILED)


class Trial(Struct, frozen=True):
    """A handler's result on a sample."""

    before: Mapping[str, object]
    after: Mapping[str, object]
    seconds: float
    failure: str = ""

    @property
    def changes(self) -> dict[str, object]:
        """Return the fields that it would change."""
        return {name: value for name, value in self.after.items() if value != self.before[name]}

    def as_json(self, event: "HookEvent[Any]") -> dict[str, object]:
        """Return the whole result for machines."""
        return {
            "event": event.name,
            "payload": self.before,
            "changes": self.changes,
            "failure": self.failure,
            "seconds": round(self.seconds, 3),
        }

    def lines(self, event: "HookEvent[Any]") -> Iterator[str]:
        """Return the result as text lines."""
        yield f"event    {event.name}, {self.seconds:.3f} s of {event.deadline_s:g} s"
        yield f"payload  {json.dumps(self.before, ensure_ascii=False)}"
        if self.failure:
            yield f"failed   {self.failure}"
            yield f"rule     {rule(event)}"
        for name, value in self.changes.items():
            yield f"changes  {name}: {json.dumps(value, ensure_ascii=False)}"
        if not self.failure and not self.changes:
            yield "changes  nothing"


def rule(event: "HookEvent[Any]") -> str:
    """Return the consequence of a failing handler of *event*."""
    return "the action is blocked" if event.decides else "it is ignored"


async def _run_trial(hook: "Hook", event: "HookEvent[Any]", given: Mapping[str, object]) -> Trial:
    from gateway.hooks import Hooks
    from gateway.hooks.programs import as_json, changed

    try:
        sample = changed(event.sample, given)
    except ValueError as exc:
        raise ConfigError(f"--payload: {exc}") from exc
    before, begun = as_json(sample), time.monotonic()
    after, failure = sample, ""
    try:
        after = await Hooks().run(hook, event, sample)
    except Exception as exc:  # noqa: BLE001  # somebody else's code: what it raises is what was asked for
        failure = f"{type(exc).__name__}: {exc}"
    taken = time.monotonic() - begun
    return Trial(_object(before), _object(as_json(after)), taken, failure)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _parse_payload(payload: str) -> dict[str, object]:
    try:
        found = json.loads(payload)
    except ValueError as exc:
        raise ConfigError(f"--payload is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise ConfigError('--payload must be a JSON object, such as {"text": "hello"}')
    return found


def _hooks(call: Call) -> "list[Hook]":
    from gateway.hooks import hooks_of
    from gateway.hooks.running import in_order

    place = call.home
    for line in disabled_line(place.disabled()):
        print(visible(line), file=sys.stderr)
    return in_order(hooks_of(place))


def _find_hook(hooks: "list[Hook]", source: str) -> "Hook":
    for hook in hooks:
        if hook.source == source:
            return hook
    known = ", ".join(hook.source for hook in hooks) or "none"
    raise ConfigError(f"there is no hook {source}; there are: {known}")


def _facts(hook: "Hook") -> dict[str, object]:
    from gateway.hooks import event_of

    event = event_of(hook.event)
    return {
        "source": hook.source,
        "event": hook.event,
        "priority": hook.priority,
        "fails": rule(event) if event else "",
        "deadline_s": event.deadline_s if event else 0.0,
    }


def _line(facts: Mapping[str, object]) -> str:
    priority = f", priority {facts['priority']}" if facts["priority"] else ""
    rest = f"{facts['deadline_s']:g} s; if it fails: {facts['fails']}"
    return f"{facts['event']:<20}  {facts['source']}{priority}; {rest}"
