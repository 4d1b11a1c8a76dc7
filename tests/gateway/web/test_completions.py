"""The OpenAI-compatible API, spoken to by OpenAI's own client over a real socket to a real gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from adapters.channel import Address
from gateway.admission.routing import SessionKey
from gateway.web.completions import TextDeltas, chat_name
from gateway.web.errors import HttpError
from gateway.web.images import ImageCaps
from gateway.web.wire import LONGEST_PREFACE, completion
from tests.fakes.provider_stub import Body, Fault, Refusal, Reply, Step, call, without_note
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, House, bearer, client, open_house
from workspaces.access import AgentId


def said(body: Body) -> str:
    """Return the last message that the model is shown."""
    content = body["messages"][-1]["content"]
    return without_note(content if isinstance(content, str) else str(content[0]["text"]))


def echo(body: Body) -> Step:
    """A model that repeats what was said; some words have it do something else."""
    text = said(body).splitlines()[-1].removeprefix("visitor: ")
    match text:
        case "look first":
            return Reply("Let me look.", calls=(call("list_files"),))
        case "be silent":
            return "NO_REPLY"
        case "be down":
            return Refusal(401, message="no")
    return f"You said: {text}" if body["messages"][-1]["role"] == "user" else "There are files."


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, echo) as house:
        yield house


async def ask(api: openai.AsyncOpenAI, text: str, **more: Any) -> str:
    answer = await api.chat.completions.create(model="main", messages=[{"role": "user", "content": text}], **more)
    return answer.choices[0].message.content or ""


# --- answers


async def test_an_answer_has_what_clients_read(house: House) -> None:
    """Text, the agent as the model, an id, the tokens that it cost."""
    answer = await house.owner.chat.completions.create(model="main", messages=[{"role": "user", "content": "hello"}])
    assert answer.choices[0].message.content == "You said: hello"
    assert (answer.model, answer.choices[0].finish_reason, answer.object) == ("main", "stop", "chat.completion")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (11, 7, 18)


async def test_a_stream_put_together_is_the_answer(house: House) -> None:
    """In pieces as the model writes them, with what it cost where that is asked for."""
    stream = await house.owner.chat.completions.create(
        model="main",
        messages=[{"role": "user", "content": "a rather long sentence"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == "You said: a rather long sentence"
    assert len([piece for piece in pieces if piece]) > 1
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 18
    assert len({chunk.id for chunk in chunks}) == 1


async def test_what_a_model_writes_before_it_uses_a_tool_stands_apart(house: House) -> None:
    """A client cannot take back what it showed: the answer begins after an empty line."""
    stream = await house.owner.chat.completions.create(
        model="main", messages=[{"role": "user", "content": "look first"}], stream=True
    )
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == "Let me look.\n\nThere are files."
    assert await ask(house.owner, "look first") == "There are files."


async def test_silence_is_an_empty_answer_and_no_part_of_it_is_streamed(house: House) -> None:
    """`NO_REPLY` reaches nobody."""
    assert await ask(house.owner, "be silent") == ""
    stream = await house.owner.chat.completions.create(
        model="main", messages=[{"role": "user", "content": "be silent"}], stream=True
    )
    assert [chunk.choices[0].delta.content or "" async for chunk in stream] == ["", ""]


async def test_a_model_that_is_down_is_said_and_not_asked_twice(house: House) -> None:
    """The message is kept, so the client must not send it again by itself, which it would after a bare 503."""
    patient = client(house.address, OWNER_TOKEN).with_options(max_retries=2)
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(patient, "be down")
    assert caught.value.code == "postponed"
    assert "kept" in str(caught.value)
    await patient.close()
    stream = await house.guest.chat.completions.create(
        model="main", messages=[{"role": "user", "content": "be down"}], stream=True
    )
    with pytest.raises(openai.APIError, match="kept"):
        assert [chunk async for chunk in stream]
    assert (await house.app.parts.resources.home.store.report()).inbox_waiting == 2


async def test_a_client_that_goes_away_loses_no_answer(house: House) -> None:
    """It stands in the conversation, and the next message finds it there."""
    body = {"model": "main", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    async with house.http.stream("POST", "/v1/chat/completions", json=body, headers=bearer(OWNER_TOKEN)) as response:
        await anext(response.aiter_lines())
    assert await ask(house.owner, "again") == "You said: again"
    told = [message["content"] for message in house.model.bodies[-1]["messages"] if message["role"] == "assistant"]
    assert told == ["You said: hello"]


# --- conversations


async def test_the_user_field_and_the_header_part_a_guests_conversations(house: House) -> None:
    """What is said in one is not shown in another; the header goes before the field."""
    await ask(house.guest, "xyzzy", user="alice")
    await ask(house.guest, "two", user="bob", extra_headers={"X-Strandline-Chat": "alice"})
    await ask(house.guest, "three", user="bob")
    shown = [json.dumps(body["messages"]) for body in house.model.bodies]
    assert ["xyzzy" in text for text in shown] == [True, True, False]
    key = SessionKey(AgentId("main"), f"guest:{Address('http', 'visitor', 'alice', 'main')}")
    assert (await house.app.parts.resources.sessions.open(key)).records


async def test_the_owners_programs_talk_in_the_owners_conversation(house: House) -> None:
    """Whatever they call it: what was said at the terminal is known, and a guest's is not."""
    await ask(house.guest, "the guest's word")
    await ask(house.owner, "the owner's word", user="elsewhere")
    await ask(house.owner, "again")
    last = json.dumps(house.model.bodies[-1]["messages"])
    assert "the owner's word" in last
    assert "the guest's word" not in last
    await ask(house.guest, "again")
    assert "the owner's word" not in json.dumps(house.model.bodies[-1])


async def test_what_a_client_sends_of_the_past_is_not_said_twice(house: House) -> None:
    """Clients send the whole conversation; the agent knows it, and only the last message is new."""
    history = [
        {"role": "system", "content": "Talk like a sailor."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "You said: hello"},
        {"role": "user", "content": [{"type": "text", "text": "what did I say?"}]},
    ]
    for messages in (history[:2], history):
        await house.guest.chat.completions.create(model="main", messages=messages)  # type: ignore[arg-type]
    shown = [without_note(str(m["content"])) for m in house.model.bodies[-1]["messages"] if m["role"] == "user"]
    assert [text.count("hello") for text in shown] == [1, 0]
    assert json.dumps(house.model.bodies[-1]).count("Talk like a sailor") == 1
    assert "> Talk like a sailor." in shown[0]


async def test_the_same_key_is_the_same_message(house: House) -> None:
    """A client that asks again after a broken connection gets the answer, and the agent hears it once."""
    asked = {"extra_headers": {"Idempotency-Key": "abc"}}
    assert [await ask(house.guest, "once", **asked) for _ in range(2)] == ["You said: once"] * 2
    assert await ask(house.guest, "another", user="bob", **asked) == "You said: another"
    assert len(house.model.bodies) == 2


@pytest.mark.parametrize("name", ["alice@example.org", "a", "A.b-c_d:e+f"])
def test_a_plain_name_names_its_chat(name: str) -> None:
    """It is found again among the sessions."""
    assert chat_name(name) == name


def test_odd_names_part_chats_too() -> None:
    """Whatever they hold, and however long they are."""
    odd = ["", ".", "../x", "a/b", "a b", "ä", "x" * 65, "x" * 66, "~0", "\ud800"]
    names = {chat_name(name) for name in odd}
    assert len(names) == len(odd)
    assert all(name.startswith("~") and len(name) == 25 for name in names)


# --- refusals


async def test_models_are_the_agents_that_the_token_opens(house: House) -> None:
    """The owner's opens all."""
    assert [model.id async for model in house.owner.models.list()] == ["main", "work"]
    assert [model.id async for model in house.guest.models.list()] == ["main"]
    assert (await house.guest.models.retrieve("main")).owned_by == "strandline"


async def test_an_agent_that_the_token_does_not_open_is_no_model(house: House) -> None:
    """It is not told from one that does not exist; the nearest name is said."""
    with pytest.raises(openai.NotFoundError, match="there are: main") as caught:
        await house.guest.chat.completions.create(model="work", messages=[{"role": "user", "content": "hi"}])
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError, match="did you mean 'main'"):
        await house.guest.models.retrieve("mian")


async def test_a_wrong_token_opens_nothing(house: House) -> None:
    """No model is asked, and nothing is stored."""
    for token in ("wrong", GUEST_TOKEN[:-1], GUEST_TOKEN + "x", OWNER_TOKEN.upper()):
        stranger = client(house.address, token)
        with pytest.raises(openai.AuthenticationError) as caught:
            await ask(stranger, "hello")
        assert caught.value.code == "invalid_api_key"
        await stranger.close()
    assert house.model.bodies == []
    assert (await house.app.parts.resources.home.store.report()).inbox_waiting == 0


GOOD = {"model": "main", "messages": [{"role": "user", "content": "hi"}]}


def test_system_messages_may_have_so_many_characters_and_no_more() -> None:
    """They stay in the conversation, and whatever looks through it at its end would take as long as they are."""
    asked = [{"role": "system", "content": "a" * (LONGEST_PREFACE // 2)}] * 2 + [{"role": "user", "content": "hi"}]
    with pytest.raises(HttpError) as caught:
        completion(json.dumps({"model": "main", "messages": asked}).encode(), ImageCaps(1, 1))
    assert (caught.value.status, caught.value.code) == (400, "system_too_long")
    assert completion(json.dumps({"model": "main", "messages": asked[1:]}).encode(), ImageCaps(1, 1)).system


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", None),
        (b"\xff", None),
        (b"[]", None),
        (GOOD | {"messages": []}, "messages"),
        (GOOD | {"messages": "hi"}, "messages"),
        (GOOD | {"messages": [{"role": "king", "content": "hi"}]}, "messages[0].role"),
        (GOOD | {"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        (GOOD | {"messages": [{"role": "user", "content": " "}]}, "messages[0].content"),
        (GOOD | {"messages": [{"role": "user"}]}, "messages[0].content"),
        (GOOD | {"messages": [*GOOD["messages"], {"role": "assistant", "content": "a"}]}, "messages[1].role"),
        (GOOD | {"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "messages[0].content[0].type"),
        ({"messages": GOOD["messages"]}, "model"),
        (GOOD | {"n": 2}, "n"),
        (GOOD | {"tools": [{"type": "function"}]}, "tools"),
        (GOOD | {"response_format": {"type": "json_object"}}, "response_format.type"),
    ],
)
def test_a_malformed_request_is_refused_with_the_field_that_is_wrong(body: Any, param: str | None) -> None:
    """400, in the shape that clients expect."""
    with pytest.raises(HttpError) as caught:
        completion(body if isinstance(body, bytes) else json.dumps(body).encode(), ImageCaps(1, 1))
    assert (caught.value.status, caught.value.param) == (400, param)


async def test_a_refusal_has_the_shape_that_clients_expect(house: House) -> None:
    """Whatever is refused: a body, a path, a method, a length; and nothing is said to the agent."""
    post = house.http.post
    refused = [
        (400, await post("/v1/chat/completions", content=b"{", headers=bearer(GUEST_TOKEN))),
        (401, await post("/v1/chat/completions", content=json.dumps(GOOD))),
        (404, await house.http.get("/v1/absent", headers=bearer(GUEST_TOKEN))),
        (405, await house.http.get("/v1/chat/completions", headers=bearer(GUEST_TOKEN))),
        (413, await post("/v1/chat/completions", content=b" " * 65_000, headers=bearer(GUEST_TOKEN))),
    ]
    for status, response in refused:
        assert response.status_code == status
        assert response.json()["error"].keys() == {"message", "type", "param", "code"}
    assert house.model.bodies == []


async def test_a_burst_is_queued_and_nobody_is_sent_away(house: House) -> None:
    """200 at once, over 50 conversations: each is answered with its own."""
    many = [ask(house.guest, f"hello {number}", user=f"chat{number % 50}") for number in range(200)]
    assert await asyncio.gather(*many) == [f"You said: hello {number}" for number in range(200)]


async def test_an_answer_that_breaks_off_in_the_stream_is_whole_at_its_end(tmp_path: Path) -> None:
    """A model whose stream broke is asked again: the client gets the whole answer after what it showed."""
    replies = iter([Reply("It is blue and green.", fault=Fault.CUT), Reply("It is blue.")])
    async with open_house(tmp_path, lambda _: next(replies)) as house:
        stream = await house.guest.chat.completions.create(
            model="main", messages=[{"role": "user", "content": "colour?"}], stream=True
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text.endswith("It is blue.")


# --- the pieces


@pytest.mark.parametrize(
    ("texts", "pieces"),
    [
        (["It", "It is", "It is blue."], ["It", " is", " blue."]),
        (["It is ", "It is \n\nblue"], ["It is", " \n\nblue"]),
        (["Let me look.", "Found"], ["Let me look.", "\n\nFound"]),
        (["Let me look.", ""], ["Let me look.", ""]),
        ([" It", "It is"], ["It", " is"]),
    ],
)
def test_drafts_become_pieces(texts: list[str], pieces: list[str]) -> None:
    """Each is what is new; a text that does not go on from the last begins after an empty line."""
    growing = TextDeltas()
    assert [growing.piece(text) for text in texts] == pieces
