"""The packages of docs/extend.md, installed by pip as a reader would, and used by a gateway process."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateway.home import Home
from strandline.testing import PATIENCE_S, ChannelContract
from tests.journeys.house import make_home
from tests.journeys.processes import ROOT, Gateway

PAGE = (ROOT / "docs" / "extend.md").read_text("utf-8")


def blocks(heading: str) -> dict[str, str]:
    """Return the files shown below *heading*, by the name in their first line."""
    part = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    shown = re.findall(r"```\w+\n# (\S+)\n(.*?)```", part, re.DOTALL)
    return dict(shown)


def lay_out(heading: str, folder: Path) -> Path:
    """Write the package of *heading* into *folder*."""
    folder.mkdir()
    for name, text in blocks(heading).items():
        (folder / name).write_text(text, "utf-8")
    return folder


def install(package: Path, target: Path) -> None:
    """Install *package* into *target* without a network."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", target, package], check=True)


def gateway(home: Home, installed: Path, log: Path) -> Gateway:
    """Return the gateway of *home* in an environment that has the packages of *installed*."""
    program = f"import sys; sys.path.insert(0, {str(installed)!r}); from gateway.__main__ import main; main()"
    return Gateway(home, log, ("-c", program))


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    """The package of the tutorial's channel."""
    return lay_out("A channel", tmp_path / "package")


def test_the_channel_is_as_short_as_the_page_says_and_passes_the_contract(channel: Path) -> None:
    """A channel is one file; its own tests inherit the contract of all channels and nothing of ours."""
    assert len((channel / "folder_channel.py").read_text("utf-8").splitlines()) < 75
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={channel}", "."]
    tested = subprocess.run(
        command, cwd=channel, env={"PYTHONPATH": f"{channel}:{ROOT}"}, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout
    rules = [name for name in dir(ChannelContract) if name.startswith("test_")]
    assert f"{len(rules)} passed" in tested.stdout


def test_the_installed_channel_answers_a_message_through_a_gateway(channel: Path, tmp_path: Path) -> None:
    """A file put into the folder is answered by a file, also by a gateway that was killed; a stranger is not."""
    install(channel, tmp_path / "installed")
    chats = tmp_path / "chats"
    for person in ("anna", "otto"):
        (chats / person).mkdir(parents=True)
    home = make_home(tmp_path / "home")
    text = home.config_file.read_text("utf-8").replace("telegram:7", "folder:anna")
    home.write(home.config_file, f'{text}\n[channels.folder.home]\npath = "{chats}"\ndirect = "owner"\n')
    process = gateway(home, tmp_path / "installed", tmp_path / "log")
    process.start()
    try:
        (chats / "otto" / "1.txt").write_text("/whoami", "utf-8")
        assert "`folder:anna`, my owner" in asked(chats / "anna", "1.txt", "/whoami")
        process.kill()
        process.start()
        assert "`folder:anna`, my owner" in asked(chats / "anna", "2.txt", "/whoami")
    finally:
        assert process.stop() == 0
    assert list((chats / "otto").iterdir()) == []


def asked(folder: Path, name: str, text: str) -> str:
    """Write a message and return the text of its answer, which is then taken away."""
    (folder / name).write_text(text, "utf-8")
    deadline = time.monotonic() + PATIENCE_S
    while not (answers := list(folder.glob("*.md"))):
        assert time.monotonic() < deadline, list(folder.iterdir())
        time.sleep(0.02)
    while not (said := answers[0].read_text("utf-8")):
        assert time.monotonic() < deadline
    answers[0].unlink()
    return said
