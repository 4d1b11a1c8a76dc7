"""Pictures go to a model that sees, with the providers' real SDKs, and a turn goes on where they are refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from msgspec import structs

from gateway.agent.entries import Entry, Picture, ReplyEntry, ResultEntry, Usage
from gateway.agent.models.image_budget import ImageBudget, shown_pictures
from gateway.agent.models.messages import UNSEEN
from gateway.agent.models.port import ModelRequest
from gateway.errors import ModelRefusedError
from tests.fakes.provider_stub import Body, Refusal, Reply, Step, call, steps
from tests.gateway.agent.models.test_hosted import STUBS, Rigs, asks, user

BOAT = Picture("attachments/1-a.png", "image/png", 5, 640, 480)
SAIL = Picture("attachments/2-b.jpg", "image/jpeg", 5, 4, 3)
SEEN = {BOAT.path: "data:image/png;base64,Ym9hdA==", SAIL.path: "data:image/jpeg;base64,c2FpbA=="}


@pytest.fixture(params=STUBS)
async def rigs(request: pytest.FixtureRequest) -> AsyncIterator[Rigs]:
    async with AsyncExitStack() as stack:
        yield Rigs(request.param, stack)


async def look(picture: Picture) -> str | None:
    return SEEN.get(picture.path)


def shows(*pictures: Picture, then: tuple[Entry, ...] = ()) -> ModelRequest:
    """A request whose last message came with pictures, after one without."""
    said = replace(user("What is it? [photo: …]"), pictures=pictures)
    return structs.replace(asks(user("hello"), ReplyEntry("Hi.", (), "home", Usage()), said, *then), look=look)


def parts(body: Body) -> object:
    """What the last message of the user's is made of."""
    return next(each["content"] for each in reversed(body["messages"]) if each["role"] == "user")


def refuses_pictures(body: Body) -> Step:
    return "Without." if isinstance(parts(body), str) else Refusal(400, message="images are not supported")


async def test_pictures_follow_the_words_that_describe_them(rigs: Rigs) -> None:
    """In their order, as data URIs, in the form that the provider's own schema has."""
    rig = await rigs.open(steps("A boat."), vision=True)
    assert (await rig.ask(shows(BOAT, SAIL))).text == "A boat."
    assert parts(rig.stub.bodies[0]) == [
        {"type": "text", "text": "What is it? [photo: …]"},
        {"type": "image_url", "image_url": {"url": SEEN[BOAT.path]}},
        {"type": "image_url", "image_url": {"url": SEEN[SAIL.path]}},
    ]
    assert rig.stub.problems == []


async def test_what_is_said_after_a_picture_has_none(rigs: Rigs) -> None:
    """Each message shows its own: one that joins the turn later, too."""
    rig = await rigs.open(steps("A boat, moored."), vision=True)
    later = replace(user("And what does it do?"), joins=True)
    await rig.ask(shows(BOAT, then=(ReplyEntry("A boat.", (), "home", Usage()), later)))
    contents = [each["content"] for each in rig.stub.bodies[0]["messages"] if each["role"] == "user"]
    assert [isinstance(each, str) for each in contents] == [True, False, True]


@pytest.mark.parametrize("why", ["blind", "nothing to look with"])
async def test_a_model_that_does_not_see_reads_what_it_always_read(rigs: Rigs, why: str) -> None:
    """As a fallback that takes no pictures does, in the same turn."""
    rig = await rigs.open(steps("What photo?"), vision=why != "blind")
    request = shows(BOAT) if why == "blind" else structs.replace(shows(BOAT), look=None)
    await rig.ask(request)
    assert parts(rig.stub.bodies[0]) == "What is it? [photo: …]"


async def test_a_picture_that_is_gone_is_said_to_be(rigs: Rigs) -> None:
    """The others are shown."""
    rig = await rigs.open(steps("One of them."), vision=True)
    await rig.ask(shows(BOAT, replace(SAIL, path="attachments/gone.png")))
    assert parts(rig.stub.bodies[0]) == [
        {"type": "text", "text": f"What is it? [photo: …]\n\n{UNSEEN}"},
        {"type": "image_url", "image_url": {"url": SEEN[BOAT.path]}},
    ]


async def test_a_turn_goes_on_without_pictures_that_are_refused(rigs: Rigs) -> None:
    """The model is told, and its next steps do not show them again; others it is shown as ever."""
    rig = await rigs.open(refuses_pictures, vision=True)
    assert (await rig.ask(shows(BOAT))).text == "Without."
    assert parts(rig.stub.bodies[1]) == f"What is it? [photo: …]\n\n{UNSEEN}"
    await rig.ask(shows(BOAT))
    assert len(rig.stub.bodies) == 3
    await rig.ask(shows(SAIL))
    assert len(rig.stub.bodies) == 5


async def test_a_request_that_is_refused_for_another_reason_stays_refused(rigs: Rigs) -> None:
    """With pictures it is tried once more; without any, never."""
    rig = await rigs.open(steps(*[Refusal(401)] * 3), vision=True)
    for request, tries in ((shows(BOAT), 2), (shows(), 3)):
        with pytest.raises(ModelRefusedError):
            await rig.ask(request)
        assert len(rig.stub.bodies) == tries


async def test_the_steps_of_a_turn_show_the_same(rigs: Rigs) -> None:
    """The message keeps its pictures while tools are called, and after a crash between two steps."""
    rig = await rigs.open(steps(Reply(calls=(call("memory_search", "c1", query="boat"),)), "A boat."), vision=True)
    first = await rig.ask(shows(BOAT))
    await rig.ask(shows(BOAT, then=(first, ResultEntry("c1", "memory_search", "nothing", False))))
    assert parts(rig.stub.bodies[0]) == parts(rig.stub.bodies[1])
    assert rig.stub.problems == []


async def test_a_request_shows_the_newest_pictures_that_have_room(rigs: Rigs) -> None:
    """Those that have none stay described, and the model is told; they are not even read."""
    rig = await rigs.open(steps("Two of them."), vision=True)
    looked: list[str] = []

    async def watched(picture: Picture) -> str | None:
        looked.append(picture.path)
        return await look(picture)

    old = replace(BOAT, path="attachments/old.png", size=2**20)
    newest = replace(user("And this?"), pictures=(SAIL,), joins=True)
    await rig.ask(structs.replace(shows(old, BOAT, then=(newest,)), look=watched))
    contents = [part for each in rig.stub.bodies[0]["messages"] if each["role"] == "user" for part in each["content"]]
    assert [part["image_url"]["url"] for part in contents if isinstance(part, dict) and "image_url" in part] == [
        SEEN[BOAT.path],
        SEEN[SAIL.path],
    ]
    assert sorted(looked) == sorted([SAIL.path, BOAT.path])
    assert UNSEEN in str(contents)


def test_a_picture_that_is_too_large_makes_way_for_older_ones() -> None:
    """And one that came twice counts once."""
    large = replace(SAIL, path="attachments/large.png", size=50)
    entries = [replace(user("a"), pictures=(BOAT, SAIL)), replace(user("b"), pictures=(large, BOAT))]
    assert shown_pictures(entries, 54) == [BOAT, SAIL]
    assert shown_pictures(entries, 55) == [BOAT, large]
    assert shown_pictures(entries, 4) == []


async def test_requests_wait_for_room_for_their_pictures(rigs: Rigs) -> None:
    """In the order in which they came; one without pictures waits for nothing, and one that ends makes room."""
    rigs.room = ImageBudget(9)
    rig = await rigs.open(lambda _: "A boat.", vision=True)
    at_work, may_end = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def slow(picture: Picture) -> str | None:
        order.append("first looks")
        at_work.set()
        await may_end.wait()
        order.append("first goes on")
        return await look(picture)

    async def quick(picture: Picture) -> str | None:
        order.append("second looks")
        return await look(picture)

    first = asyncio.create_task(rig.ask(structs.replace(shows(BOAT), look=slow)))
    await at_work.wait()
    second = asyncio.create_task(rig.ask(structs.replace(shows(SAIL), look=quick)))
    gives_up = asyncio.create_task(rig.ask(structs.replace(shows(SAIL), look=quick)))
    assert (await rig.ask(shows())).text == "A boat."
    gives_up.cancel()
    may_end.set()
    await asyncio.gather(first, second)
    assert order == ["first looks", "first goes on", "second looks"]
    assert gives_up.cancelled()


async def test_what_is_larger_than_the_room_has_it_alone() -> None:
    """Or it would wait for ever."""
    room = ImageBudget(9)
    async with room.hold(20):
        other = asyncio.ensure_future(room.hold(1).__aenter__())
        await asyncio.sleep(0)
        assert not other.done()
    await other
