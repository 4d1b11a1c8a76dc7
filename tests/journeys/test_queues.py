"""The whole gateway, told to stop, to collect and to use another model, from the owner's terminal."""

import asyncio
from collections.abc import MutableMapping
from typing import cast

from msgspec import structs

from adapters.channel import OutboundMessage
from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.home import Home
from gateway.inbound.settings import QueueMode
from tests.fakes.patience import PATIENCE_S
from tests.gateway.inbound.queued import HeldModel
from tests.gateway.observability.test_metrics import home
from tests.journeys.house import running
from workspaces.access import AgentId

__all__ = ["home"]

MAIN = AgentId("main")


async def test_stop_overtakes_and_what_waits_is_collected(home: Home) -> None:
    """`/stop` ends the turn before it and clears what waits; `/queue collect` then makes one turn of two messages."""
    stopped, model = HeldModel(), HeldModel("Alone.", "Together.", *["NO_REPLY"] * 5)  # for notes at the end
    shown: asyncio.Queue[str] = asyncio.Queue()

    async def show(message: OutboundMessage) -> None:
        shown.put_nowait(message.body.text)

    async with asyncio.timeout(PATIENCE_S), running(home) as app:
        agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
        agents[MAIN] = structs.replace(agents[MAIN], model=stopped)
        terminal = app.operator.conversation.terminals[MAIN]
        with terminal.attach(show):
            stopped.hold(1)
            await terminal.say("one")
            await stopped.asked(1)
            await terminal.say("two")
            await terminal.say("/stop")
            told = await shown.get()
            assert told.startswith("Stopped.")
            assert "1 waiting message was discarded" in told
            assert (await app.parts.resources.home.store.report()).reasons["stopped"] == 2
            await terminal.say("/queue collect")
            assert "until this conversation ends" in await shown.get()
            assert app.parts.choices.mode(SessionKey(MAIN, "main")) is QueueMode.COLLECT
            agents[MAIN] = structs.replace(agents[MAIN], model=model)
            door = model.hold(1)
            await terminal.say("three")
            await model.asked(1)
            await terminal.say("four")
            await terminal.say("five")
            door.set()
            assert [await shown.get(), await shown.get()] == ["Alone.", "Together."]
        assert model.saw(2)[-2:] == ["four", "five"]
