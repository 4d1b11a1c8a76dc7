"""Pictures in the OpenAI-compatible API: shown to a model that sees, kept within bounds, never fetched."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from adapters.channel import Attachment, AttachmentKind, FetchRefusedError
from adapters.http import HttpAdapter
from gateway.web.errors import HttpError
from gateway.web.images import ImageCaps
from gateway.web.wire import completion
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.pictures import gif, jpeg, png, webp
from tests.fakes.provider_stub import Body, steps
from tests.gateway.web.house import GUEST_TOKEN, OWNER_TOKEN, client, door, make_web_home

CAPS = ImageCaps(count=2, size=1_000)
ADDRESS = "https://images.example.org/boat.png"


def uri(content: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{b64encode(content).decode()}"


def part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


def asking(*parts: dict[str, Any], role: str = "user") -> bytes:
    messages = [{"role": role, "content": [*parts]}, *([] if role == "user" else [{"role": "user", "content": "hi"}])]
    return json.dumps({"model": "main", "messages": messages}).encode()


def seen(body: Body) -> list[str]:
    contents = [each["content"] for each in body["messages"] if isinstance(each["content"], list)]
    return [each["image_url"]["url"] for parts in contents for each in parts if each["type"] == "image_url"]


async def test_a_picture_is_shown_in_the_turn_that_it_came_with(tmp_path: Path) -> None:
    """With words or alone; it is kept where files of that chat are, and later described."""
    boat, sail = png(640, 480), webp(20, 10)
    async with OpenAIStub(steps("A boat.", "Still a boat.", "A sail.")) as model:
        home = make_web_home(tmp_path, model.url)
        text = home.config_file.read_text("utf-8")
        home.write(home.config_file, text.replace('"MODEL_KEY"', '"MODEL_KEY"\nvision = true'))
        async with (
            door(home) as (_, address),
            client(address, OWNER_TOKEN) as owner,
            client(address, GUEST_TOKEN) as guest,
        ):
            said: list[Any] = [{"type": "text", "text": "What is it?"}, part(uri(boat))]
            alone: Any = [part(uri(sail, "image/png"))]
            content: Any
            for api, content in ((owner, said), (owner, "Sure?"), (guest, alone)):
                await api.chat.completions.create(model="main", messages=[{"role": "user", "content": content}])
    assert [seen(body) for body in model.bodies[:3]] == [[uri(boat)], [], [uri(sail, "image/webp")]]
    assert "[photo: image/png" in str(model.bodies[1]["messages"])
    assert model.problems == []
    workspace = home.agent("main").workspace
    kept = {path.parent.relative_to(workspace).parts[0]: path.read_bytes() for path in workspace.rglob("*-file.*")}
    assert kept == {"attachments": boat, "memory": sail}


@pytest.mark.parametrize("content", [png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9)])
async def test_each_type_that_models_take_is_taken(content: bytes) -> None:
    """By what it is; whatever its sender calls it, and whatever the earlier messages show."""
    asked = completion(asking(part(uri(content, "IMAGE/anything"))), CAPS)
    (found,) = asked.images
    assert (found.kind, found.size, asked.text) == (AttachmentKind.PHOTO, len(content), "")
    assert b"".join([piece async for piece in HttpAdapter("laptop").fetch(found)]) == content


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        (asking(part(ADDRESS)), "messages[0].content[0].image_url.url", "invalid_image_url"),
        (asking(part("file:///etc/passwd")), "messages[0].content[0].image_url.url", "invalid_image_url"),
        (asking(part("data:image/png,raw")), "messages[0].content[0].image_url.url", "invalid_image_url"),
        (asking(part("data:image/png;base64,%%%")), "messages[0].content[0].image_url.url", "invalid_base64_image"),
        (asking(part(uri(b"<svg/>"))), "messages[0].content[0].image_url.url", "invalid_image_format"),
        (asking(part(uri(png(1, 1) + b"x" * 999))), "messages[0].content[0].image_url.url", "image_too_large"),
        (asking(*[part(uri(png(1, 1)))] * 3), "messages[0].content", "too_many_images"),
        (asking({"type": "image_url"}), "messages[0].content[0].image_url", None),
        (asking({"type": "image_url", "image_url": ADDRESS}), "messages[0].content", None),
        (asking({"type": "file"}), "messages[0].content[0].type", None),
        (asking(part(uri(png(1, 1))), role="system"), "messages[0].content[0].type", None),
    ],
)
def test_a_picture_that_is_not_taken_is_refused_with_its_place(body: bytes, param: str, code: str | None) -> None:
    """400, in the shape that clients expect; no address is fetched, ours or others'."""
    with pytest.raises(HttpError) as caught:
        completion(body, CAPS)
    assert (caught.value.status, caught.value.param, caught.value.code) == (400, param, code)


async def test_a_program_brings_files_in_its_request_alone() -> None:
    """The adapter reads no path and asks no address."""
    for ref in (ADDRESS, "/etc/passwd", ""):
        with pytest.raises(FetchRefusedError):
            await anext(HttpAdapter("laptop").fetch(Attachment(AttachmentKind.PHOTO, ref)))
