"""Spans of a turn at a collector, from the real program in OpenTelemetry's own wire format."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from gateway.config import TraceSettings
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.gateway.test___main__ import call, up

SECRET = "the-vault-opens-with-4711"
CONFIG = '[traces]\nenabled = true\nendpoint = "{endpoint}"\n[agents.main]\n[memory]\nwatch = "off"\n'


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes traces; give its address and what it took."""
    taken: list[bytes] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/traces", taken
        finally:
            server.shutdown()
            thread.join()


def spans_of(taken: list[bytes]) -> list[Span]:
    """Every span in what was taken."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in taken]
    scopes = [scope for request in requests for resource in request.resource_spans for scope in resource.scope_spans]
    return [span for scope in scopes for span in scope.spans]


def facts(span: Span) -> dict[str, str]:
    """What *span* says beside its name and its times."""
    return {fact.key: fact.value.string_value for fact in span.attributes}


def test_a_turn_is_one_trace_without_a_word_of_it(tmp_path: Path) -> None:
    """The turn holds the model's calls and the tool; the send names the turn; no text or person is in any span."""
    home = Home(tmp_path / "home")
    home.create()
    with collector() as (endpoint, taken):
        home.write(home.config_file, CONFIG.format(endpoint=endpoint))
        with up(home) as (process, _):
            assert call(home, "chat", "--message", f"remember that {SECRET}").returncode == 0
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
        spans = spans_of(taken)
    assert SECRET.encode() not in b"".join(taken)
    assert b"terminal:owner" not in b"".join(taken)
    (turn,) = [span for span in spans if span.name == "turn"]
    assert facts(turn)["strandline.channel"] == "terminal"
    inner = [span for span in spans if span.trace_id == turn.trace_id and span is not turn]
    assert {span.name for span in inner} == {"chat offline", "tool add_note"}
    assert all(span.parent_span_id == turn.span_id for span in inner)
    (send,) = [span for span in spans if span.name == "send"]
    assert facts(send)["strandline.turn"] == facts(turn)["strandline.turn"]


def test_a_collector_that_is_away_costs_no_turn(tmp_path: Path) -> None:
    """The answer comes, and the gateway stops in good order."""
    home = Home(tmp_path / "home")
    home.create()
    home.write(home.config_file, CONFIG.format(endpoint="http://127.0.0.1:9/v1/traces"))
    with up(home) as (process, _):
        assert call(home, "chat", "--message", "hello").returncode == 0
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_without_the_sdk_the_start_says_what_to_install() -> None:
    """One line names the package's extra."""
    program = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from gateway.config import TraceSettings\nfrom gateway.errors import ConfigError\n"
        "from gateway.app.tracing import tracing\n"
        "try:\n  tracing(TraceSettings(enabled=True)).__enter__()\nexcept ConfigError as exc:\n  print(exc)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert "-m pip install 'opentelemetry-" in run.stdout


def test_tracing_is_off_unless_wanted() -> None:
    """Nothing leaves the machine by default."""
    assert not TraceSettings().enabled
