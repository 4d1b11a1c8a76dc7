"""nanobot (PyPI `nanobot-ai`): `nanobot serve`."""

import json
import subprocess
from pathlib import Path

from bench.compare.rival import Around, Request, Start, pip_install, pip_version
from tests.fakes.provider_stub import Call, call


class Nanobot:
    """Its notes are files of the workspace, found by a search of their text."""

    name = "nanobot"
    notes = "workspace/memory"
    ends = ""

    def install(self, folder: Path) -> None:
        pip_install(folder, "nanobot-ai[api]")

    def installed(self, folder: Path) -> Path:
        return folder

    def version(self, folder: Path) -> str:
        return pip_version(folder, "nanobot_ai")

    def prepare(self, folder: Path, home: Path, around: Around) -> Start:
        program = str(folder / "bin" / "nanobot")
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
        subprocess.run([program, "onboard"], env=environ, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        file = home / ".nanobot" / "config.json"
        config = json.loads(file.read_text())
        config["agents"]["defaults"] |= {"model": "stub-1", "provider": "custom"}
        config["providers"]["custom"] |= {"apiKey": "none", "apiBase": around.model_url}
        file.write_text(json.dumps(config))
        for name, text in around.notes.items():
            (home / ".nanobot" / "workspace" / "memory" / name).write_text(text)
        return Start([program, "serve", "--port", str(around.port)])

    def request(self, chat: str) -> Request:
        return Request("stub-1", fields={"session_id": chat})

    def search(self, question: str) -> Call:
        """It searches files by a pattern; its model is taken to look for any of the question's longer words."""
        words = [word for word in question.strip("?").split() if len(word) > 4]
        return call("grep", pattern="|".join(words), path="memory", output_mode="content", case_insensitive=True)

    def remember(self, text: str) -> Call:
        return call("write_file", path="memory/MEMORY.md", content=f"# Long-term memory\n\n- {text}\n")
