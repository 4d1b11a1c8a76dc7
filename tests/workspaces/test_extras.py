"""The command that installs an optional package works where this program runs."""

import shlex
import sys
import tomllib
from importlib import metadata, util
from pathlib import Path

import pytest

from workspaces.extras import install_command

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_names_the_packages_that_the_extra_declares(extra: str) -> None:
    """By this interpreter's own pip: a clone's environment is not on the path, and no index need hold Strandline."""
    program, *words = shlex.split(install_command(extra))
    assert [program, *words[:3]] == [sys.executable, "-m", "pip", "install"]
    named = [word.partition("=")[0].partition("<")[0].partition(">")[0] for word in words[3:]]
    assert sorted(named) == sorted(each.partition("=")[0].partition(">")[0] for each in EXTRAS[extra])


def test_an_environment_without_pip_is_installed_into_by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that `uv` makes have none."""
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    assert install_command("mcp").startswith(f"uv pip install --python {shlex.quote(sys.executable)} ")


def test_without_metadata_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a copy of the folder that was never installed."""

    def nothing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", nothing)
    assert install_command("mcp").endswith("pip install 'strandline[mcp]'")
