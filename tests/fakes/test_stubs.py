"""The provider stubs as processes of their own, as benches start them."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from gateway.agent.models.hosted import HostedModel
from gateway.agent.models.settings import HostedSettings
from tests.gateway.agent.models.test_hosted import Provider, asks, user


async def quiet(_: str) -> None:
    """Drop a draft."""


@pytest.mark.parametrize(("provider", "base"), [("openai", "/v1"), ("cohere", ""), ("anthropic", ""), ("google", "")])
async def test_a_stub_runs_alone_and_stops_when_told(provider: Provider, base: str, tmp_path: Path) -> None:
    """The port file appears when the server answers; a SIGTERM ends it with status 0."""
    port_file = tmp_path / "port"
    arguments = ("-m", f"tests.fakes.{provider}_stub", "--port", "0", "--port-file", str(port_file))
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        settings = HostedSettings(
            provider, "stub", name="m", base_url=f"http://127.0.0.1:{port_file.read_text()}{base}"
        )
        model = HostedModel(settings)
        assert (await model.reply(asks(user("hello")), quiet)).text == "You said: hello"
        await model.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
