"""hermes-agent (PyPI): `hermes gateway run` with its API server."""

from pathlib import Path

from bench.compare.rival import BEARER, TOKEN, Around, Request, Start, pip_install, pip_version
from tests.fakes.provider_stub import Call, call

CONFIG = """\
model:
  default: stub-1
  provider: custom
  base_url: {url}
  api_key: none
"""


class Hermes:
    """Its memory is two short files in the prompt, and a search of past conversations; it has no place for notes."""

    name = "hermes-agent"
    notes = ""
    ends = ""

    def install(self, folder: Path) -> None:
        pip_install(folder, "hermes-agent[messaging]")  # the API server needs aiohttp, which comes with it

    def installed(self, folder: Path) -> Path:
        return folder

    def version(self, folder: Path) -> str:
        return pip_version(folder, "hermes_agent")

    def prepare(self, folder: Path, home: Path, around: Around) -> Start:
        place = home / ".hermes"
        place.mkdir(parents=True)
        (place / "config.yaml").write_text(CONFIG.format(url=around.model_url))
        environ = {
            "HERMES_HOME": str(place),
            "API_SERVER_ENABLED": "true",
            "API_SERVER_KEY": TOKEN,
            "API_SERVER_PORT": str(around.port),
        }
        return Start([str(folder / "bin" / "hermes"), "gateway", "run"], environ)

    def request(self, chat: str) -> Request:
        return Request("hermes-agent", {"X-Hermes-Session-Id": chat, **BEARER})

    def search(self, question: str) -> Call:
        """Its search matches words; its model is taken to look for any of the question's longer ones."""
        words = [word for word in question.strip("?").split() if len(word) > 4]
        return call("session_search", query=" OR ".join(words))

    def remember(self, text: str) -> Call:
        return call("memory", action="add", target="memory", content=text)
