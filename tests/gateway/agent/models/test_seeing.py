"""Pictures go to a model that sees, with the providers' real SDKs, and a turn goes on where they are refused."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from gateway.agent.entries import Entry, Picture, ReplyEntry, ResultEntry, Usage
from gateway.agent.models.messages import UNSEEN
from gateway.agent.models.port import ModelRequest
from gateway.errors import ModelRefusedError
from tests.fakes.provider_stub import Body, Refusal, Reply, Step, call, steps
from tests.gateway.agent.models.test_hosted import STUBS, Desks, asks, user

BOAT = Picture("attachments/1-a.png", "image/png", 5, 640, 480)
SAIL = Picture("attachments/2-b.jpg", "image/jpeg", 5, 4, 3)
SEEN = {BOAT.path: "data:image/png;base64,Ym9hdA==", SAIL.path: "data:image/jpeg;base64,c2FpbA=="}


@pytest.fixture(params=STUBS)
async def desks(request: pytest.FixtureRequest) -> AsyncIterator[Desks]:
    async with AsyncExitStack() as stack:
        yield Desks(request.param, stack)


async def look(picture: Picture) -> str | None:
    return SEEN.get(picture.path)


def shows(*pictures: Picture, then: tuple[Entry, ...] = ()) -> ModelRequest:
    """A request whose last message came with pictures, after one without."""
    said = replace(user("What is it? [photo: …]"), pictures=pictures)
    return replace(asks(user("hello"), ReplyEntry("Hi.", (), "home", Usage()), said, *then), look=look)


def parts(body: Body) -> object:
    """What the last message of the user's is made of."""
    return next(each["content"] for each in reversed(body["messages"]) if each["role"] == "user")


def refuses_pictures(body: Body) -> Step:
    return "Without." if isinstance(parts(body), str) else Refusal(400, message="images are not supported")


async def test_pictures_follow_the_words_that_describe_them(desks: Desks) -> None:
    """In their order, as data URIs, in the form that the provider's own schema has."""
    desk = await desks.open(steps("A boat."), vision=True)
    assert (await desk.ask(shows(BOAT, SAIL))).text == "A boat."
    assert parts(desk.stub.bodies[0]) == [
        {"type": "text", "text": "What is it? [photo: …]"},
        {"type": "image_url", "image_url": {"url": SEEN[BOAT.path]}},
        {"type": "image_url", "image_url": {"url": SEEN[SAIL.path]}},
    ]
    assert desk.stub.problems == []


async def test_what_is_said_after_a_picture_has_none(desks: Desks) -> None:
    """Each message shows its own: one that joins the turn later, too."""
    desk = await desks.open(steps("A boat, moored."), vision=True)
    later = replace(user("And what does it do?"), joins=True)
    await desk.ask(shows(BOAT, then=(ReplyEntry("A boat.", (), "home", Usage()), later)))
    contents = [each["content"] for each in desk.stub.bodies[0]["messages"] if each["role"] == "user"]
    assert [isinstance(each, str) for each in contents] == [True, False, True]


@pytest.mark.parametrize("why", ["blind", "nothing to look with"])
async def test_a_model_that_does_not_see_reads_what_it_always_read(desks: Desks, why: str) -> None:
    """As a fallback that takes no pictures does, in the same turn."""
    desk = await desks.open(steps("What photo?"), vision=why != "blind")
    request = shows(BOAT) if why == "blind" else replace(shows(BOAT), look=None)
    await desk.ask(request)
    assert parts(desk.stub.bodies[0]) == "What is it? [photo: …]"


async def test_a_picture_that_is_gone_is_said_to_be(desks: Desks) -> None:
    """The others are shown."""
    desk = await desks.open(steps("One of them."), vision=True)
    await desk.ask(shows(BOAT, replace(SAIL, path="attachments/gone.png")))
    assert parts(desk.stub.bodies[0]) == [
        {"type": "text", "text": f"What is it? [photo: …]\n\n{UNSEEN}"},
        {"type": "image_url", "image_url": {"url": SEEN[BOAT.path]}},
    ]


async def test_a_turn_goes_on_without_pictures_that_are_refused(desks: Desks) -> None:
    """The model is told, and its next steps do not show them again; others it is shown as ever."""
    desk = await desks.open(refuses_pictures, vision=True)
    assert (await desk.ask(shows(BOAT))).text == "Without."
    assert parts(desk.stub.bodies[1]) == f"What is it? [photo: …]\n\n{UNSEEN}"
    await desk.ask(shows(BOAT))
    assert len(desk.stub.bodies) == 3
    await desk.ask(shows(SAIL))
    assert len(desk.stub.bodies) == 5


async def test_a_request_that_is_refused_for_another_reason_stays_refused(desks: Desks) -> None:
    """With pictures it is tried once more; without any, never."""
    desk = await desks.open(steps(*[Refusal(401)] * 3), vision=True)
    for request, tries in ((shows(BOAT), 2), (shows(), 3)):
        with pytest.raises(ModelRefusedError):
            await desk.ask(request)
        assert len(desk.stub.bodies) == tries


async def test_the_steps_of_a_turn_show_the_same(desks: Desks) -> None:
    """The message keeps its pictures while tools are called, and after a crash between two steps."""
    desk = await desks.open(steps(Reply(calls=(call("memory_search", "c1", query="boat"),)), "A boat."), vision=True)
    first = await desk.ask(shows(BOAT))
    await desk.ask(shows(BOAT, then=(first, ResultEntry("c1", "memory_search", "nothing", False))))
    assert parts(desk.stub.bodies[0]) == parts(desk.stub.bodies[1])
    assert desk.stub.problems == []
