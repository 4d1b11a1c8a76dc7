"""What is Cohere's alone: failures that it calls a finish, the plan before calls, its published schema."""

from contextlib import AsyncExitStack

import pytest

from gateway.agent.entries import ResultEntry
from tests.fakes.cohere_stub import SCHEMA_FILE, CohereStub
from tests.fakes.provider_stub import Reply, call, steps
from tests.gateway.agent.models.test_hosted import TEXT, Rigs, asks, user


async def test_a_reply_within_which_cohere_fails_is_tried_again() -> None:
    """Cohere's finish reasons ERROR and TIMEOUT are failures."""
    async with AsyncExitStack() as stack:
        script = steps(Reply(TEXT, finish="ERROR"), Reply(TEXT, finish="TIMEOUT"), "well")
        rig = await Rigs("cohere", stack).open(script)
        assert (await rig.ask()).text == "well"


async def test_coheres_plan_is_kept_and_goes_back_as_a_plan() -> None:
    """What Cohere writes before its calls is the reply's text, and is returned to the field it came from."""
    async with AsyncExitStack() as stack:
        planned = Reply(plan="I will search memory.", calls=(call("memory_search", "c1", query="port"),))
        rig = await Rigs("cohere", stack).open(steps(planned, "5433"))
        reply = await rig.ask()
        assert reply.text == "I will search memory." == "".join(rig.drafts)
        await rig.ask(asks(user("port?"), reply, ResultEntry("c1", "memory_search", "5433", False)))
        assistant = rig.stub.bodies[1]["messages"][2]
        assert assistant["tool_plan"] == "I will search memory."
        assert "content" not in assistant


@pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="Cohere's published schema is not beside the repository")
def test_the_cohere_stub_refuses_what_its_schema_forbids() -> None:
    """The stub would notice a request that Cohere does not take."""
    stub = CohereStub(steps())
    good = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    assert list(stub.problems_of(good)) == []
    for message in ({"role": "user"}, {"role": "boss", "content": ""}, {"role": "assistant", "content": None}):
        assert list(stub.problems_of({**good, "messages": [message]}))
    assert list(stub.problems_of({**good, "temperature": 7}))
