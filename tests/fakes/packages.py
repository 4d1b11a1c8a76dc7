"""Packages of strangers: modules and metadata in a folder on the import path, as pip leaves them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway import plugins

Install = Callable[[str, str, str], None]
"""Installs a package: its name, the text of its `entry_points.txt`, and the text of its one module, of the same name
with underscores; without a text there is no module."""


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages for one test; afterwards nothing of them is left."""
    folder = tmp_path_factory.mktemp("packages")
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)

    def install(package: str, entries: str, code: str = "") -> None:
        add(folder, package, entries, code)
        plugins.forget()

    yield install
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    monkeypatch.undo()
    plugins.forget()


def add(folder: Path, package: str, entries: str, code: str) -> None:
    """Write *package* into *folder*."""
    module = package.replace("-", "_")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(entries, "utf-8")
    if code:
        (folder / f"{module}.py").write_text(code, "utf-8")
