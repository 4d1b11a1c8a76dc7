"""Requests to hosted embedders, the texts sent, and the behaviour while they are unavailable."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.cohere_stub import SCHEMA_FILE
from tests.fakes.embedding_stub import EmbeddingStub, refusal
from tests.fakes.memory import DIMENSION, HandlerWorker, WordsEmbedder
from tests.fakes.notes import IndexedNotes
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import GROUP, OWN
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.index.embeddings import Embedder, EmbedderUnavailableError
from workspaces.memory.index.embeddings.choose import choose_embedder
from workspaces.memory.index.embeddings.hosted import TEXTS_A_CALL, HostedEmbedder, batches
from workspaces.memory.index.embeddings.joined import Joined
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.embeddings.settings import PRESETS, HostedEmbedding, Provider
from workspaces.memory.index.endpoint import Patience
from workspaces.memory.index.endpoint_errors import EndpointDownError, EndpointError, EndpointRefusedError

KEY = "canary-key-4711"


@pytest.fixture
def stub() -> Iterator[EmbeddingStub]:
    with EmbeddingStub() as stub:
        yield stub


class Waits:
    """A clock and sleeps that take no time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def patience(self) -> Patience:
        return Patience(sleep=self.sleep, chance=lambda: 1.0, clock=lambda: self.now_s)


def settings(stub: EmbeddingStub, provider: Provider = "cohere", **changes: object) -> HostedEmbedding:
    model = PRESETS[provider].model
    return replace(HostedEmbedding(provider, model, DIMENSION, stub.url, KEY, 5.0), **changes)  # type: ignore[arg-type]  # fields by name


@pytest.fixture
def far(stub: EmbeddingStub) -> Iterator[HostedEmbedder]:
    waits = Waits()
    embedder = HostedEmbedder(settings(stub), waits.patience())
    embedder.waits = waits  # type: ignore[attr-defined]  # for the tests
    yield embedder
    embedder.close()


def waits_of(far: HostedEmbedder) -> Waits:
    waits: Waits = far.waits  # type: ignore[attr-defined]  # set above
    return waits


def test_cohere_is_asked_by_its_own_schema(stub: EmbeddingStub, far: HostedEmbedder) -> None:
    """Notes and questions are told apart, the length is asked for, and the key goes into the header alone."""
    if not SCHEMA_FILE.exists():
        pytest.skip(f"Cohere's published schema is not at {SCHEMA_FILE}")
    [note] = far.begin(["red bicycle"]).result(PATIENCE_S)
    question = far.embed_query("red bicycle")
    assert stub.problems == []
    assert [body["input_type"] for body in stub.bodies] == ["search_document", "search_query"]
    assert {body["output_dimension"] for body in stub.bodies} == {DIMENSION}
    assert stub.keys == [f"Bearer {KEY}"] * 2
    assert float(note @ question) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("provider", "extra"),
    [
        ("openai", {"encoding_format": "float", "dimensions": DIMENSION}),
        ("gemini", {"encoding_format": "float", "dimensions": DIMENSION}),
        ("voyage", {"input_type": "query", "output_dimension": DIMENSION}),
    ],
)
def test_openais_protocol_is_spoken_as_each_provider_wants_it(
    stub: EmbeddingStub, provider: Provider, extra: dict[str, object]
) -> None:
    """One endpoint, three dialects; answers that come in another order are put right."""
    far = HostedEmbedder(settings(stub, provider), Waits().patience())
    vector = far.embed_query("red bicycle")
    first, second = far.begin(["red bicycle", "blue moon"]).result(PATIENCE_S)
    far.close()
    assert stub.bodies[0] == {"model": PRESETS[provider].model, "input": ["red bicycle"], **extra}
    assert float(vector @ first) > 0.99 > float(vector @ second)


def test_an_unknown_model_is_not_asked_for_a_length(stub: EmbeddingStub) -> None:
    """Servers of one's own refuse what they do not know."""
    far = HostedEmbedder(settings(stub, "openai", model="nomic-embed-text"), Waits().patience())
    far.embed_query("tea")
    far.close()
    assert "dimensions" not in stub.bodies[0]


def test_calls_hold_what_a_provider_takes() -> None:
    """At most 96 texts and 8,000 tokens a call, every text once, the empty ones never."""
    texts = ["word"] * 200 + ["long " * 2000] * 5 + ["", " \n"]
    calls = list(batches(texts))
    assert [number for call in calls for number in call] == list(range(205))
    assert max(map(len, calls)) == TEXTS_A_CALL
    assert all(sum(len(texts[number]) / 3 for number in call) <= 8_000 for call in calls)


def test_four_calls_travel_at_once(stub: EmbeddingStub, far: HostedEmbedder) -> None:
    """No more, and the vectors come back in the order of the texts."""
    texts = [f"word{number}" for number in range(96 * 6)] + [""]
    vectors = far.begin(texts).result(PATIENCE_S)
    assert len(stub.bodies) == 6
    assert stub.most_at_once <= 4
    expected = [each.pooled for each in WordsEmbedder().embed(texts)]
    assert np.allclose(np.array(vectors), np.array(expected), atol=1e-5)


def test_what_passes_is_tried_again_as_long_as_it_says(stub: EmbeddingStub, far: HostedEmbedder) -> None:
    """Retry-After is kept to the second; without one the waits grow; three tries are all."""
    stub.faults = [refusal(429, Retry_After="7"), refusal(503)]
    assert len(far.begin(["tea"]).result(PATIENCE_S)) == 1
    assert waits_of(far).slept == [7.0, 1.0]
    stub.always = refusal(503)
    with pytest.raises(EndpointDownError, match="HTTP 503"):
        far.begin(["milk"]).result(PATIENCE_S)
    assert len(stub.bodies) == 6


def test_who_asks_for_too_much_patience_is_left_alone_that_long(stub: EmbeddingStub, far: HostedEmbedder) -> None:
    """A minute is not waited for; until it is over nothing more is sent."""
    stub.faults = [refusal(429, Retry_After="60")]
    with pytest.raises(EndpointDownError):
        far.begin(["tea"]).result(PATIENCE_S)
    waits_of(far).now_s = 59.0
    with pytest.raises(EndpointDownError, match="HTTP 429"):
        far.embed_query("tea")
    assert len(stub.bodies) == 1
    waits_of(far).now_s = 61.0
    far.embed_query("tea")


@pytest.mark.parametrize(("status", "mend"), [(401, "API key"), (404, "base_url"), (400, "does not accept")])
def test_a_refusal_is_not_repeated(stub: EmbeddingStub, far: HostedEmbedder, status: int, mend: str) -> None:
    """It says how to mend it, and neither the provider's words nor the key."""
    stub.faults = [refusal(status)]
    with pytest.raises(EndpointRefusedError, match=mend) as caught:
        far.begin(["tea"]).result(PATIENCE_S)
    assert len(stub.bodies) == 1
    assert KEY not in str(caught.value) + repr(far.endpoint.account)


@pytest.mark.parametrize("key", ["canary\u2013key", "canary\nkey"])
def test_a_key_that_fits_no_header_is_refused(stub: EmbeddingStub, key: str) -> None:
    """Nobody is asked; the reason names the provider and not the key. It was an error of the header's encoding."""
    far = HostedEmbedder(settings(stub, api_key=key), Waits().patience())
    try:
        with pytest.raises(EndpointRefusedError, match="API key holds a character") as caught:
            far.begin(["tea"]).result(PATIENCE_S)
    finally:
        far.close()
    assert stub.bodies == []
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        {"embeddings": {"float": [[1.0, 2.0]]}},
        {"embeddings": {"float": []}},
        {"embeddings": {"float": [[None] * DIMENSION]}},
        {"embeddings": {"float": [[float("nan")] * DIMENSION]}},
        {},
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    stub: EmbeddingStub, far: HostedEmbedder, answer: dict[str, object]
) -> None:
    """A wrong length or number would poison the index; the message names the settings."""
    stub.always = lambda: (200, {}, answer)
    with pytest.raises(EndpointRefusedError, match="check model and dimension"):
        far.begin(["tea"]).result(PATIENCE_S)
    assert far.endpoint.trouble


@pytest.mark.parametrize("answer", [b"<html>", b"\xff"])
def test_an_answer_that_is_no_json_is_tried_again(stub: EmbeddingStub, far: HostedEmbedder, answer: bytes) -> None:
    """A proxy's page is no answer."""
    stub.faults = [lambda: (200, {}, answer)]
    assert len(far.begin(["tea"]).result(PATIENCE_S)) == 1


def test_a_question_is_not_waited_for(stub: EmbeddingStub, far: HostedEmbedder) -> None:
    """A provider that hangs costs one search 0.6 s and the following nothing."""
    stub.always = stub.hang
    begun = time.monotonic()
    with pytest.raises(EndpointDownError, match=r"within 0\.6 seconds"):
        far.embed_query("tea")
    assert time.monotonic() - begun < 15
    with pytest.raises(EndpointError):
        far.embed_query("tea")
    assert len(stub.bodies) == 1


# --- in an index


class Home(IndexedNotes):
    """An agent's notes, indexed by a local embedder and the stub's."""

    def __init__(self, home: Path, embedder: Embedder | None) -> None:
        self.worker = HandlerWorker(embedder)
        super().__init__(home, self.worker)

    def settle(self) -> None:
        for _ in self.worker.handler.settle():
            pass


async def test_a_note_is_found_at_once_and_by_the_provider_later(
    stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path
) -> None:
    """Indexing asks nobody; what entries owe is fetched afterwards, all documents in one call."""
    home = Home(tmp_path, Joined(WordsEmbedder("near"), far, "everything"))
    for day in range(1, 6):
        home.write(f"memory/2026-03-0{day}.md", f"- red bicycle number{day}\n")
    await home.index.sync()
    assert stub.bodies == []
    before = await home.search("bicycle number3")
    assert before.hits[0].snippet == "red bicycle number3"
    assert (before.hits[0].similarity, (await home.index.status()).owing) == (0.0, 5)
    stub.bodies.clear()
    home.settle()
    assert [len(body["texts"]) for body in stub.bodies] == [5]
    after = await home.search("bicycle number3")
    assert after.hits[0].similarity > 0.5
    assert after.hits[0].late == before.hits[0].late
    assert (await home.index.status()).owing == 0
    home.settle()
    assert len([body for body in stub.bodies if body["input_type"] == "search_document"]) == 1
    home.worker.handler.close()


async def test_a_note_that_a_later_one_may_change_is_found_before_its_vector_came(
    stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path
) -> None:
    """Without the older line's vector no later one is measured against it; the search answers all the same."""
    home = Home(tmp_path, Joined(LocalEmbedder(), far, "everything"))
    home.write("memory/2026-03-01.md", "- Yusuf works nights at the bakery\n- the boat is green\n")
    home.write("memory/2026-03-09.md", "- Yusuf works at the post office now, new job\n")
    await home.index.sync()
    found = await home.search("where does Yusuf work")
    assert {hit.snippet for hit in found.hits} >= {"Yusuf works nights at the bakery"}
    home.worker.handler.close()


async def test_private_text_never_leaves_unless_it_may(
    stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path
) -> None:
    """By default a provider sees shared notes and questions over them: no private note, no question of the owner's."""
    home = Home(tmp_path, Joined(WordsEmbedder("near"), far, "shared"))
    home.write("MEMORY.md", "- the safe opens with swordfish\n")
    home.write(f"{OWN}/2026-03-01.md", "- we meet at noon\n")
    await home.index.sync()
    home.settle()
    mine = await home.search("what opens the swordfish safe")
    theirs = await home.search("when do we meet", GROUP)
    assert mine.hits[0].snippet == "the safe opens with swordfish"
    assert (mine.mode, mine.notice) == ("hybrid", "")
    assert theirs.hits[0].similarity > 0
    assert stub.texts == ["we meet at noon", "when do we meet"]
    home.worker.handler.close()


async def test_an_outage_costs_no_answer(stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path) -> None:
    """A search answers by what is here, does not wait for the provider and says so; a note written meanwhile is found,
    and its vector is fetched when the provider is back."""
    home = Home(tmp_path, Joined(WordsEmbedder("near"), far, "everything"))
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    home.settle()
    stub.always = stub.hang
    home.write("MEMORY.md", "- likes tea\n- hates rain\n")
    begun = time.monotonic()
    found = await home.search("rain")
    assert time.monotonic() - begun < 15
    assert found.hits[0].snippet == "hates rain"
    assert found.mode == "hybrid"
    assert "without the provider's vectors: cohere: no answer" in found.notice
    assert "no answer" in (await home.index.status()).reason
    assert not home.worker.handler.is_owing
    stub.let_go.set()
    stub.always = None
    waits_of(far).now_s += 31
    assert home.worker.handler.is_owing
    home.settle()
    assert (await home.search("rain")).hits[0].similarity > 0.5
    assert (await home.index.status()).reason == ""
    home.worker.handler.close()


async def test_an_outage_while_vectors_are_fetched_keeps_what_came(
    stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path
) -> None:
    """Nothing is half indexed: entries whose vectors did not come still owe them, and the next call goes on."""
    home = Home(tmp_path, Joined(None, far, "everything"))
    home.write("memory/2026-03-01.md", "".join(f"- note number{n}\n" for n in range(500)))
    await home.index.sync()
    stub.faults = [lambda: (200, {}, stub._right("/v2/embed", stub.bodies[-1]))] * 4 + [refusal(503)] * 6
    home.settle()
    assert (await home.index.status()).owing == 500 - 384
    waits_of(far).now_s += 31
    home.settle()
    assert (await home.index.status()).owing == 0
    sent = [text for body in stub.bodies[:4] for text in body["texts"]]
    assert not set(sent) & {text for body in stub.bodies[10:] for text in body["texts"]}
    home.worker.handler.close()


async def test_without_any_model_here_words_answer(stub: EmbeddingStub, far: HostedEmbedder, tmp_path: Path) -> None:
    """No local model and a provider that is gone, or must not see the question: keywords, with the reason."""
    home = Home(tmp_path, Joined(None, far, "shared"))
    home.write("MEMORY.md", "- likes tea\n")
    found = await home.search("tea")
    assert (found.mode, found.hits[0].snippet) == ("keyword", "likes tea")
    assert "private notes stay on this machine" in found.notice
    home.worker.handler.close()


async def test_another_model_is_built_beside_and_swapped(stub: EmbeddingStub, tmp_path: Path) -> None:
    """The old index answers by words until the new one is complete; texts known to a model are not sent again."""
    first, second = (
        HostedEmbedder(settings(stub, model=model), Waits().patience()) for model in ("embed-v4.0", "embed-v5.0")
    )
    for far, is_new in ((first, True), (second, True), (first, False)):
        home = Home(tmp_path, Joined(WordsEmbedder("near"), far, "everything"))
        home.write("MEMORY.md", "- likes tea\n")
        await home.index.sync()
        stub.bodies.clear()
        home.settle()
        assert [body["model"] for body in stub.bodies] == ([far._settings.model] if is_new else [])
        assert (await home.search("tea")).hits[0].similarity > 0.5
        assert len(list((tmp_path / "index").glob("*/manifest.db"))) == 1
        home.worker.handler._embedder = None  # its provider is used once more
        home.worker.handler.close()
    first.close()
    second.close()


# --- choosing


def test_auto_takes_the_local_model_while_it_loads(stub: EmbeddingStub) -> None:
    """A key in the environment does not make a gateway ask a provider."""
    chosen = choose_embedder("auto", [settings(stub)], threads=1)
    assert chosen.embedder is not None
    assert chosen.embedder.name == LocalEmbedder.name


def _no_local(monkeypatch: pytest.MonkeyPatch) -> None:
    from workspaces.memory.index.embeddings import local

    def fail(*args: object, **kwargs: object) -> None:
        raise EmbedderUnavailableError("its files are not here")

    monkeypatch.setattr(local.LocalEmbedder, "__init__", fail)


def test_auto_goes_on_to_the_first_provider(stub: EmbeddingStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the local model cannot load, the providers follow in their order; without one the reason is kept."""
    _no_local(monkeypatch)
    chosen = choose_embedder("auto", [settings(stub), settings(stub, "openai")], threads=1)
    assert isinstance(chosen.embedder, Joined)
    assert chosen.embedder.far.name.startswith("cohere")
    chosen.embedder.close()
    none = choose_embedder("auto", [], threads=1)
    assert (none.embedder, none.reason) == (None, "its files are not here")


@pytest.mark.usefixtures("real_start")
async def test_the_key_reaches_the_worker_by_the_pipe_alone(stub: EmbeddingStub, tmp_path: Path) -> None:
    """Neither the list of processes nor the worker's environment nor its log shows it; the provider gets it."""
    worker_settings = WorkerSettings(embedder="hosted", hosted=[settings(stub, may_leave="everything")])
    assert KEY not in repr(worker_settings)
    async with WorkerClient(worker_settings) as worker:
        home = IndexedNotes(tmp_path, worker)
        home.note("MEMORY.md", "likes tea")
        assert (await home.search("tea")).mode == "hybrid"
        assert worker.pid is not None
        assert KEY.encode() not in _shown_of(worker.pid)
    assert f"Bearer {KEY}" in stub.keys
    assert not [file for file in files_below(tmp_path) if KEY.encode() in file]


def _shown_of(pid: int) -> bytes:
    """Return what others may see of a process, where the system tells."""
    process = Path(f"/proc/{pid}")
    return b"".join((process / name).read_bytes() for name in ("cmdline", "environ")) if process.exists() else b""


def files_below(folder: Path) -> list[bytes]:
    """Return what the files below *folder* hold."""
    return [file.read_bytes() for file in folder.rglob("*") if file.is_file()]


def test_a_provider_is_asked_directly_and_a_redirect_is_not_followed(
    stub: EmbeddingStub, far: HostedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of the environment, and an address that a server here points to, would read what stays here."""
    with EmbeddingStub() as other:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, other.url)
        stub.always = refusal(307, Location=f"{other.url}/v2/embed")
        with pytest.raises(EndpointRefusedError, match="HTTP 307"):
            far.begin(["tea"]).result(PATIENCE_S)
        assert (len(stub.bodies), other.bodies) == (1, [])
