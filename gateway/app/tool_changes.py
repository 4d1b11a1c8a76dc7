"""Changes of the tools that other programs offer: the owner is told of them, and none of them frees a tool."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec
from msgspec import DecodeError, Struct, structs

from gateway.agent.mcp.offered import Offer
from gateway.agent.mcp.settings import ProgramServer, ServerSettings, Site
from gateway.agent.models.port import ToolSpec
from gateway.delivery.owner_notices import Notices
from gateway.stores.ports import Store
from gateway.stores.remembered import remember

MOST_KNOWN = 512
"""Tools of a server that are remembered, the latest; a forgotten one is new, and so not free. Our choice."""


class _KnownTool(Struct, frozen=True):
    """A tool as its server has offered it."""

    digest: str
    """Of its description and its arguments."""
    is_closed: bool
    """Its server called it so when its tools were first listed, and ever since."""


async def as_known(
    notices: Notices, store: Store, clock: Callable[[], datetime], settings: ServerSettings, offer: Offer
) -> Offer:
    """Return *offer*, of the server of *settings*, without freedoms that it did not have at first.

    The owner is told of changes, once a day at most; other settings of theirs are another server. Raises StoreError.
    """
    server = settings.name
    key = f"tool_server_tools:{server}:{_digest([_start_of(settings.place), settings.rules.tools])}"
    before = _read(await store.get(key))
    now = {name: _known(spec, is_closed=name in offer.closed) for name, spec in offer.specs.items()}
    if before is not None:
        now = {name: _without_new_freedom(each, before.get(name)) for name, each in now.items()}
        if changes := "; ".join(_changes(before, now)):
            await notices.tell(f"tool_server_changed:{server}:{clock():%Y-%m-%d}", _notice(server, changes))
    gone = {name: each for name, each in (before or {}).items() if name not in now}  # may come back otherwise
    known = dict([*gone.items(), *now.items()][-MOST_KNOWN:])
    if known != before:
        await remember(store, key, known)
    return structs.replace(
        offer, closed=frozenset(name for name in offer.closed if name in now and now[name].is_closed)
    )


def _read(text: str | None) -> Mapping[str, _KnownTool] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, _KnownTool]) if text else None
    except (DecodeError, RecursionError):
        return {}


def _known(spec: ToolSpec, *, is_closed: bool) -> _KnownTool:
    return _KnownTool(digest=_digest([spec.description, spec.parameters]), is_closed=is_closed)


def _start_of(place: ProgramServer | Site) -> Sequence[str]:
    return place.command if isinstance(place, ProgramServer) else [place.url]


def _digest(facts: Sequence[object]) -> str:
    told = json.dumps(facts, sort_keys=True, default=dict)
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _without_new_freedom(now: _KnownTool, before: _KnownTool | None) -> _KnownTool:
    return structs.replace(now, is_closed=now.is_closed and before is not None and before.is_closed)


def _changes(before: Mapping[str, _KnownTool], now: Mapping[str, _KnownTool]) -> Iterator[str]:
    new = [name for name in now if name not in before]
    changed = [name for name in now if name in before and now[name].digest != before[name].digest]
    for what, names in (("new:", new), ("described otherwise:", changed)):
        if names:
            yield f"{what} {', '.join(f'`{each}`' for each in names)}"


def _notice(server: str, changes: str) -> str:
    return (
        f"The tool server {server} has changed its tools ({changes}). A model reads their descriptions: if you did not "
        f"update the server, look at it before you go on. A tool that was not read-only before still waits for you; "
        f"`trusted = true` under [mcp.{server}] frees all of its tools."
    )
