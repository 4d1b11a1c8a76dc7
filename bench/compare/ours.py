"""Strandline, installed as its users install it: `strandline up` with its HTTP API and an owner's program."""

from pathlib import Path

from bench.compare.rival import TOKEN, Around, Request, Start, pip_install, pip_version
from gateway.home import Home
from tests.fakes.provider_stub import Call, call
from tests.journeys.house import ENVIRON, make_home, openai_section
from tests.journeys.processes import ROOT

GUEST = f"{TOKEN}-guest"
WEB = """\
[web]
enabled = true
port = {port}
[web.tokens.own]
token_file = "token"
owner = true
[web.tokens.guest]
token_file = "guest"
agents = ["main"]
chats_a_day = 1000
"""


class Strandline:
    """Its notes are `memory/*.md`, found by meaning and words."""

    name = "Strandline"
    notes = "workspace/memory"
    ends = "/new"

    def install(self, folder: Path) -> None:
        pip_install(folder, str(ROOT))

    def installed(self, folder: Path) -> Path:
        return folder

    def version(self, folder: Path) -> str:
        return pip_version(folder, "strandline")

    def prepare(self, folder: Path, home: Path, around: Around) -> Start:
        made = make_home(home / ".strandline", model=openai_section(around.model_url))
        (made.path / "token").write_text(TOKEN)
        (made.path / "guest").write_text(GUEST)
        made.write(made.config_file, f"{made.config_file.read_text()}\n{WEB.format(port=around.port)}")
        self._write_notes(made, around)
        return Start([str(folder / "bin" / "strandline"), "up"], ENVIRON)

    def _write_notes(self, home: Home, around: Around) -> None:
        folder = home.agent("main").workspace / "memory"
        folder.mkdir(exist_ok=True)
        for name, text in around.notes.items():
            (folder / name).write_text(text)

    def request(self, chat: str) -> Request:
        """Return a guest's conversation of that name, or the owner's one conversation."""
        token = GUEST if chat.startswith("guest") else TOKEN
        return Request("main", {"X-Strandline-Chat": chat, "Authorization": f"Bearer {token}"})

    def search(self, question: str) -> Call:
        return call("memory_search", query=question)

    def remember(self, text: str) -> Call:
        return call("add_note", text=text)
