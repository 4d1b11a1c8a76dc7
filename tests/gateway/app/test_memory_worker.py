"""Embedding settings of the memory worker: provider, key, and the notes that may be sent."""

import json

import pytest
from pydantic import ValidationError

from gateway.app.memory_worker import memory_worker, worker_settings
from gateway.config import Config, EmbeddingSettings
from gateway.settings.secrets import secret_gaps
from workspaces.memory.index.settings import QdrantServer


def test_nothing_configured_prefers_the_local_model() -> None:
    """`auto` names the providers whose usual key is there, Cohere first; without a key there are none."""
    assert (worker_settings(EmbeddingSettings(), {}).embedder, worker_settings(EmbeddingSettings(), {}).hosted) == (
        "auto",
        [],
    )
    ready = worker_settings(EmbeddingSettings(), {"VOYAGE_API_KEY": "v", "CO_API_KEY": "c", "OPENAI_API_KEY": " "})
    assert [(each.provider, each.api_key, each.may_leave) for each in ready.hosted] == [
        ("cohere", "c", "shared"),
        ("voyage", "v", "shared"),
    ]


def test_a_named_provider_without_its_key_stops_nothing() -> None:
    """It stays the chosen one, so that no index is built for another, and its key is among what is missing."""
    settings = EmbeddingSettings(provider="cohere")
    assert (worker_settings(settings, {}).embedder, worker_settings(settings, {}).hosted[0].api_key) == ("hosted", "")
    [gap] = secret_gaps([source for source in [settings.api_key()] if source], {})
    assert "CO_API_KEY is not set" in gap
    chosen = worker_settings(settings, {"CO_API_KEY": "secret-1"})
    assert (chosen.embedder, chosen.hosted[0].api_key) == ("hosted", "secret-1")


def test_a_server_of_ones_own_needs_no_key() -> None:
    """But the model's name and the length of its vectors."""
    own = EmbeddingSettings(provider="openai", base_url="http://127.0.0.1:1/v1", model="m", dimension=8)
    [hosted] = worker_settings(own, {}).hosted
    assert (hosted.base_url, hosted.model, hosted.dimension, hosted.api_key) == ("http://127.0.0.1:1/v1", "m", 8, "")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model": "m"}, "needs a provider that is named"),
        ({"provider": "cohere", "model": "m"}, "needs dimension"),
        ({"provider": "openai", "base_url": "http://127.0.0.1:1"}, "needs model"),
        ({"provider": "cohere", "api_key_env": "A", "api_key_file": "b"}, "keep one"),
    ],
)
def test_settings_that_do_not_fit_are_refused(values: dict[str, str], said: str) -> None:
    """With what is missing."""
    with pytest.raises(ValidationError, match=said):
        Config.model_validate({"memory": {"embeddings": values}})


@pytest.mark.parametrize("provider", ["auto", "cohere"])
def test_a_key_that_fits_no_header_never_reaches_the_worker(provider: str) -> None:
    """Whether the settings name it or `auto` found it: the worker would end with a traceback."""
    settings = Config.model_validate({"memory": {"embeddings": {"provider": provider}}}).memory.embeddings
    made = worker_settings(settings, {"CO_API_KEY": "canary\u2013key"})
    assert all(each.api_key == "" for each in made.hosted)


def test_the_redactor_knows_a_named_providers_key() -> None:
    """So that it stays out of every sink."""
    config = Config.model_validate({"memory": {"embeddings": {"provider": "voyage"}}})
    assert [source.env for source in config.secret_sources()] == ["VOYAGE_API_KEY"]


def test_a_servers_nodes_are_set_or_left_to_the_server() -> None:
    """Replicas, confirmations and agreement go to the worker; writes that nobody could confirm are refused at start."""
    server = {"url": "http://127.0.0.1:6333"}
    nodes = {"replication_factor": 3, "write_consistency_factor": 2, "read_consistency": "majority"}
    for given in (server, server | nodes):
        sent = memory_worker(Config.model_validate({"qdrant": given | {"api_key_env": "KEY"}}), {"KEY": "k"}).init
        expected = QdrantServer(**given)
        assert (QdrantServer(**sent["qdrant"]), sent["qdrant_key"]) == (expected, "k")
    with pytest.raises(ValidationError, match="must not be more than replication_factor, which is 1"):
        Config.model_validate({"qdrant": server | nodes | {"replication_factor": 1}})


def test_other_nodes_and_an_authority_go_to_the_worker_where_they_belong() -> None:
    """Through the wire's JSON; without a first node, or encryption, they are a mistake."""
    given = {"url": "https://one:6333", "other_urls": ["https://two:6333"], "ca_file": "/etc/ca.pem"}
    sent = json.loads(json.dumps(memory_worker(Config.model_validate({"qdrant": given}), {}).init))["qdrant"]
    assert (sent["other_urls"], sent["ca_file"]) == (["https://two:6333"], "/etc/ca.pem")
    for wrong, said in ((given | {"url": None}, "whose first one is url"), (given | {"url": "http://one"}, "https")):
        with pytest.raises(ValidationError, match=said):
            Config.model_validate({"qdrant": wrong})
