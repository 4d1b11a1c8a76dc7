"""Keys that turn up in chats, tools, files and answers: afterwards they are nowhere, in whatever form."""

import asyncio
import gzip
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from gateway.backup.taking import take_backup
from gateway.config import read_config
from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.control.wire import HistoryOrder, SearchOrder
from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.embedding_stub import EmbeddingStub
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply
from tests.fakes.redis_server import running as redis_server
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running
from tests.leak_search import forms, traces
from workspaces.secrets import REMOVED

SECRETS = {
    "BOT_TOKEN": "987654321:AAbot-canary_of-telegram",
    "MODEL_KEY": 'sk-canary-"of\\the-model',
    "EMBEDDING_KEY": "canary/of+the=embeddings",
    "METRICS_TOKEN": "canary-of-the-metrics?x=1&y",
    "WEB_TOKEN": "canary-of-the-web-token-24+characters",
    "REDIS_PASSWORD": "canary:of@redis/%20-and-more-of-it",
}
"""One for each kind of setting, with all that JSON, URLs and base64 write otherwise."""
BY_HAND = "notes/by-hand.md"
"""The owner's own file: it stays as it was written."""


def pasted() -> str:
    """Return a text with every key in every form, one of them as a header writes it."""
    lines = [form for key in SECRETS.values() for form in forms(key)]
    return "\n".join(["here are all", *lines, f"Authorization: Bearer {SECRETS['MODEL_KEY']}"])


def leaks(name: str, content: bytes | str) -> list[str]:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return [f"{name}: {trace.decode()}" for trace in traces(SECRETS.values()) if trace in data]


def leaks_in(home: Home, but_for: str = BY_HAND) -> list[str]:
    """Return where keys are found: in every file of the home, and in every object of its histories."""
    found: list[str] = []
    for file in (each for each in home.path.rglob("*") if each.is_file()):
        if not but_for or not str(file).endswith(but_for):
            found += leaks(str(file.relative_to(home.path)), file.read_bytes())
    git_dir = home.agent("main").history
    batch = ["git", "--git-dir", str(git_dir), "cat-file", "--batch-all-objects", "--batch"]  # unpacked
    objects = subprocess.run(batch, capture_output=True, check=True).stdout
    assert b"by hand" in objects
    return found + leaks("history.git", objects)


def house(folder: Path, bot: str, model: str, embeddings: str, redis: str) -> Home:
    """Return a home in which these secrets are configured; with its state in *redis* if that is an address."""
    home = make_home(folder, bot, openai_section(model))
    state = f'url = "{redis}"\n' if redis else ""
    more = f"""
[redis]
{state}password_env = "REDIS_PASSWORD"
[memory.embeddings]
provider = "openai"
model = "words"
dimension = 16
base_url = "{embeddings}"
api_key_env = "EMBEDDING_KEY"
may_leave = "everything"
[metrics]
enabled = true
token_env = "METRICS_TOKEN"
[web]
enabled = true
port = 0
[web.tokens.phone]
token_env = "WEB_TOKEN"
owner = true
"""
    home.write(home.config_file, home.config_file.read_text("utf-8") + more)
    hand = home.agent("main").workspace / BY_HAND
    hand.parent.mkdir()
    hand.write_text(f"by hand\n{pasted()}\n", "utf-8")
    return home


class Blabber:
    """A model that knows every key, puts them into every tool, and repeats them."""

    def __init__(self) -> None:
        self._ids = count()

    def __call__(self, body: Body) -> Reply | str:
        if not body.get("tools"):
            return f"Summary: {pasted()}"
        if body["messages"][-1]["role"] == "tool":
            return f"I know them:\n{pasted()}"
        text = pasted()
        wanted: list[tuple[str, dict[str, object]]] = [
            ("save_memory", {"text": f"keep {text.replace(chr(10), ' ')}", "category": "notes"}),
            ("write_file", {"path": "notes/model.md", "content": text}),
            ("read_file", {"path": BY_HAND}),
            ("memory_search", {"query": f"{SECRETS['MODEL_KEY']} {SECRETS['BOT_TOKEN']}"}),
            ("no_such_tool", {"text": text}),
        ]
        calls = tuple(Call(name, json.dumps(given), f"c{next(self._ids)}") for name, given in wanted)
        return Reply(f"Let me see: {text}", calls)


@contextmanager
def state_in(store: str) -> Iterator[tuple[str, Path | None]]:
    """Give the address of the server that keeps the state, if any, and the folder in which that writes it down."""
    if store == "sqlite":
        yield "", None
        return
    with redis_server("valkey", "--requirepass", SECRETS["REDIS_PASSWORD"]) as redis:
        yield redis.url, redis.socket.parent


@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_no_key_is_found_anywhere_after_it_was_pasted_everywhere(tmp_path: Path, store: str) -> None:
    """In no file, git object, index, backup, request to a provider or message; and the owner is told of it."""
    archive = tmp_path / "backup.tar.gz"
    with EmbeddingStub() as embeddings, state_in(store) as (redis, written):
        async with BotApi(SECRETS["BOT_TOKEN"]) as bot, OpenAIStub(Blabber()) as model:
            home = house(tmp_path / "home", bot.url, model.url, embeddings.url, redis)
            async with running(home, SECRETS) as app:
                bot.says(OWNER, pasted())
                bot.files["letter"] = pasted().encode()
                file = {"file_id": "letter", "file_unique_id": "u1", "file_name": "letter.txt"}
                bot.says(OWNER, "", document=file)
                await bot.wait_for_sent(2)
                bot.says(GROUP, f"hello {pasted()}", user_id=8, chat_type="supergroup")
                await app.operator.chat(ChatOrder(f"remember {pasted()}"), unheard)
                await app.operator.follow(IndexOrder())
                found = await app.operator.ask(SearchOrder(SECRETS["EMBEDDING_KEY"]))
                log = await app.operator.ask(HistoryOrder("log", limit=50))
                await app.operator.chat(ChatOrder("/new"), unheard)
                await bot.until(lambda: sum("contained a key" in message.text for message in bot.sent) >= 2)
                status = await app.parts.status.brief()
                await asyncio.to_thread(take_backup, home, read_config(home.config_file), archive, lambda *_: None)
        assert leaks_in(home) == []
        log_of_redis = [file.read_bytes() for file in written.rglob("*.aof")] if written else []
        assert [len(each) > 10_000 for each in log_of_redis].count(True) == (store == "redis")
        assert leaks("redis", b"".join(log_of_redis)) == []
        assert any((home.agent("main").workspace / "attachments").iterdir())
        assert leaks("backup", gzip.decompress(archive.read_bytes())) == []
        assert leaks_in(home, but_for="") != [], "the search is broken"
        assert len(model.raw) >= 4
        assert len(embeddings.bodies) >= 4
        assert leaks("requests", json.dumps([model.raw, embeddings.bodies], ensure_ascii=False)) == []
        shown = [*(message.text for message in bot.sent), str(found), str(log), status]
        assert leaks("answers", "\n".join(shown)) == []
        assert any("I know them" in message.text and REMOVED in message.text for message in bot.sent)


async def unheard(_: str, __: bool) -> None:
    """Nobody reads the answer."""
