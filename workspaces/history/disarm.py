"""Removal of everything in a history's repository that could make git run another program."""

import os
import shutil
from pathlib import Path

from workspaces.lazy_pattern import lazy_pattern

_KEPT = frozenset({"HEAD", "config", "packed-refs", "refs", "objects", "description"})
"""All that Strandline creates; `hooks`, `info` (attributes name drivers), `commondir`, `config.worktree` are not."""
_OURS = lazy_pattern(r"^\s*(agent|maintained)\s*=\s*([A-Za-z0-9:+.-]{1,64})\s*$")
_SETTINGS = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\thooksPath = /dev/null
\tlogAllRefUpdates = false
[gc]
\tauto = 0
"""


def disarm(repository: Path) -> None:
    """Keep of the bare *repository* only Strandline's own content: objects, references, and settings by known names.

    Git obeys the settings of a repository: a dozen of them name programs that it runs to pack or show commits.
    """
    for path in repository.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in ("alternates", "http-alternates"):
        (repository / "objects/info" / name).unlink(missing_ok=True)
    config = repository / "config"
    if config.exists():
        known = _own_settings(config.read_text("utf-8", "replace"))
        config.unlink()
        with os.fdopen(os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(_SETTINGS)
            if known:
                out.write("[strandline]\n" + "".join(f"\t{name} = {value}\n" for name, value in known.items()))


def _own_settings(text: str) -> dict[str, str]:
    """Return the settings of Strandline's own section."""
    found, is_ours = {}, False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            is_ours = line.strip().lower() == "[strandline]"
        elif is_ours and (setting := _OURS.match(line)):
            found[setting[1]] = setting[2]
    return found
