"""What Prometheus is told is what happened, under labels that never name a chat, and told to nobody else."""

import json
import re
from importlib.metadata import version as version_of
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.app.app import App
from gateway.cli.invocation import Composed
from gateway.cli.up import with_metrics
from gateway.config import Config, read_config
from gateway.config.reading import parse_config
from gateway.control.exposition import Exposition, StatusCollector
from gateway.control.server import control_app
from gateway.control.status_wire import ChannelStatus, Status, StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.errors import ConfigError, StoreError
from gateway.home import Home
from gateway.observability.metrics import Meter
from tests.fakes.operator import FakeOperator
from tests.journeys.house import make_home, running

ROOT = Path(__file__).parents[3]
Samples = dict[tuple[str, str], float]


async def told(app: App) -> Samples:
    """Return each sample by its name and its labels' values."""
    assert app.parts.resources.meter is not None
    return await asked(
        Exposition(control_app(app.operator, app.parts.health, "t"), app.operator, app.parts.resources.meter)
    )


async def asked(app: Exposition, status: int = 200, **headers: str) -> Samples:
    """Ask for `/metrics`."""
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
        response = await client.get("/metrics", headers=headers)
    assert response.status_code == status
    families = text_string_to_metric_families(response.text) if status == 200 else ()
    return {(each.name, "/".join(each.labels.values())): each.value for family in families for each in family.samples}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = make_home(tmp_path / "home")
    home.write(home.config_file, home.config_file.read_text("utf-8") + "\n[metrics]\nenabled = true\n")
    return home


async def test_what_happened_is_counted(home: Home) -> None:
    """A conversation of two messages: in, out, answered, asked of the model, committed."""
    async with running(home) as app:
        for text in ("Remember that the fence is green.", "Which colour has the fence?"):
            await app.operator.chat(ChatOrder(text), hear)
        await app.parts.resources.home.store.count("duplicate", 3)
        found = await told(app)
    assert found["strandline_messages_received_total", "terminal"] == 2
    assert found["strandline_messages_sent_total", "terminal"] == 2
    assert found["strandline_answer_seconds_count", "terminal"] == 2
    assert found["strandline_model_call_seconds_count", "main/offline/replied"] >= 2
    assert found["strandline_store_commit_seconds_count", ""] >= 4
    assert found["strandline_reasons_total", "duplicate"] == 3
    assert found["strandline_inbox_waiting", ""] == found["strandline_agent_waiting", "main"] == 0
    assert found["strandline_ready", ""] == 1
    assert found["strandline_memory_entries", "main"] > 0
    assert [version for name, version in found if name == "strandline_build_info"] == [version_of("strandline")]


async def hear(_text: str, _is_answer: bool) -> None:
    """Take no notice of an answer."""


async def test_no_label_names_a_session_a_chat_or_a_text(home: Home) -> None:
    """Each label's values come from the configuration or from the program."""
    async with running(home) as app:
        await app.operator.chat(ChatOrder("The secret word is swordfish."), hear)
        assert app.parts.resources.meter is not None
        families = list(app.parts.resources.meter.registry.collect())
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    assert labels == {"channel", "agent", "model", "outcome", "kind", "le"}


async def test_a_failed_call_counts_and_has_no_tokens() -> None:
    """Tokens are what providers said; a failure is a call too."""
    meter = Meter()
    meter.called("main", "stub", 0.5, None)
    samples = [sample for family in meter.registry.collect() for sample in family.samples]
    assert [s.value for s in samples if s.name.endswith("call_seconds_count")] == [1]
    assert [s.labels["outcome"] for s in samples if s.name.endswith("call_seconds_count")] == ["failed"]
    assert not [sample for sample in samples if "tokens" in sample.name]


async def test_without_a_token_only_who_names_this_machine_is_answered() -> None:
    """A page in a browser comes under a name; every other path stays the application's."""
    operator = FakeOperator()
    app = Exposition(control_app(operator, operator, "t"), operator, Meter())
    assert await asked(app)
    await asked(app, 421, Host="rebound.example")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1") as client:
        assert (await client.get("/healthz")).json() == {"alive": True}


async def test_with_a_token_only_who_shows_it_is_answered() -> None:
    """Under whatever name the gateway is reached: Prometheus comes by a service's."""
    operator = FakeOperator()
    app = Exposition(control_app(operator, operator, "t"), operator, Meter(), "the-token")
    for wrong in ({}, {"Authorization": "Bearer t"}, {"Authorization": "the-token2"}):
        await asked(app, 401, **wrong)
    assert await asked(app, Authorization="Bearer the-token", Host="gateway.chat.svc")


async def test_a_state_that_cannot_be_read_is_no_answer() -> None:
    """Prometheus then says that the gateway is down; nothing is made up."""

    class Broken(FakeOperator):
        async def status(self, _: StatusOrder) -> Status:
            raise StoreError("the disk fails")

    operator = Broken()
    await asked(Exposition(control_app(operator, operator, "t"), operator, Meter()), 503)


async def test_a_channel_that_does_not_listen_is_seen() -> None:
    """By its account, as the configuration names it."""

    class Waiting(FakeOperator):
        async def status(self, _: StatusOrder) -> Status:
            channels = (ChannelStatus("telegram", "home", "waiting"), ChannelStatus("telegram", "work", "listening"))
            return Status("0.0", "/home", True, 1, "UTC", "setting", channels=channels)

    operator = Waiting()
    found = await asked(Exposition(control_app(operator, operator, "t"), operator, Meter()))
    assert found["strandline_channel_listening", "home/telegram"] == 0
    assert found["strandline_channel_listening", "work/telegram"] == 1


async def test_nothing_is_counted_unless_it_is_wanted(tmp_path: Path) -> None:
    """No meter, no wrapped model, no page."""
    async with running(make_home(tmp_path / "home")) as app:
        composed = Composed(app.operator, app.parts.health, app.run, app.parts.resources.meter)
        assert not isinstance(with_metrics("t", composed, Config(), {}), Exposition)
        assert type(app.operator.agents.named(None).model).__name__ != "MeteredModel"


def test_the_token_comes_from_where_the_settings_say(home: Home) -> None:
    """Without it the metrics are closed, and the rest starts; one place is enough; a remote gateway needs one."""
    operator = FakeOperator()
    config = parse_config('[metrics]\nenabled = true\ntoken_env = "SCRAPE"\n', home.config_file)
    composed = Composed(operator, FakeOperator(), run, Meter())
    assert isinstance(with_metrics("t", composed, config, {"SCRAPE": "x"}), Exposition)
    assert not isinstance(with_metrics("t", composed, config, {}), Exposition)
    for wrong in (
        '[gateway]\nhost = "0.0.0.0"\nallow_remote = true\n[metrics]\nenabled = true\n',
        '[metrics]\ntoken_env = "A"\ntoken_file = "b"\n',
    ):
        with pytest.raises(ConfigError, match="metrics: "):
            parse_config(wrong, home.config_file)
    assert read_config(home.config_file).metrics.token() is None


async def run(_: object) -> None:
    """A gateway that does nothing."""


def test_the_dashboard_asks_for_what_there_is() -> None:
    """Every metric of a panel is one that a gateway shows, and every one that it shows is in a panel."""
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "strandline.json").read_text("utf-8"))
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked_for = {name for expr in targets for name in re.findall(r"strandline_\w+", expr)}
    standing = list(StatusCollector(Status("0.0", "/home", True, 1, "UTC", "setting")).collect())
    families = [*Meter().registry.collect(), *standing]
    shown = {family.name for family in families}
    endings = ("_total", "_count", "_bucket")
    plain = {name.removesuffix(next((e for e in endings if name.endswith(e)), "")) for name in asked_for}
    assert plain == shown - {"strandline_build"}
