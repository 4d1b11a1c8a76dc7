"""Entries of a workspace: folders, plain files, and other names, which are left out, with their fix."""

import os
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from workspaces.file_slot import Identity, identity_of, is_plain

SHOWN = 5
"""Most paths listed in one message; our choice."""


class FolderEntry(Struct, frozen=True):
    name: str
    is_folder: bool
    size: int
    """In bytes; 0 for a folder."""


class FoundFile(Struct, frozen=True):
    path: PurePosixPath
    size: int
    mtime_ns: int
    identity: Identity

    @property
    def inode(self) -> int:
        return self.identity.inode


def found_file(path: PurePosixPath, facts: os.stat_result) -> FoundFile:
    return FoundFile(path, facts.st_size, facts.st_mtime_ns, identity_of(facts))


class LeftOut(Struct, frozen=True):
    """A name that is neither read nor changed."""

    path: PurePosixPath
    why: str
    """Such as "it has 2 names (hard links)"."""
    is_file: bool
    """It leads to a regular file, which can be replaced by a copy of itself."""
    identity: Identity
    changed_ns: int
    """Time of the last change of the target's names, by the system's clock."""


def entry_of(name: str, facts: os.stat_result | None) -> FolderEntry | None:
    """Return a name's entry in a listing; `None` if it is missing or left out."""
    if facts is not None and stat.S_ISDIR(facts.st_mode):
        return FolderEntry(name, is_folder=True, size=0)
    if facts is not None and is_plain(facts):
        return FolderEntry(name, is_folder=False, size=facts.st_size)
    return None


def left_out_reason(path: PurePosixPath, facts: os.stat_result) -> LeftOut | None:
    """Return the reason for leaving out *path*; `None` for a plain file and for a folder.

    Hidden links are never notes: editors use them as locks.
    """
    is_file = stat.S_ISREG(facts.st_mode)
    if is_plain(facts) or stat.S_ISDIR(facts.st_mode) or (path.name.startswith(".") and not is_file):
        return None
    why = f"it has {facts.st_nlink} names (hard links)" if is_file else "it is no regular file"
    why = "it is a symbolic link" if stat.S_ISLNK(facts.st_mode) else why
    return LeftOut(path, why, is_file, identity_of(facts), facts.st_ctime_ns)


def describe_left_out(found: Sequence[LeftOut]) -> str:
    """Return the paths and the reasons for leaving them out, the first few by name."""
    shown = [f"{each.path} ({each.why})" for each in found[:SHOWN]]
    return ", ".join(shown) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def mend(root: Path, found: Sequence[LeftOut]) -> str:
    """Return the owner's fix for the names *found* in the workspace at *root*: a command for hard links."""
    files, others = ([each for each in found if each.is_file is kind] for kind in (True, False))
    ways = []
    if len(files) == 1:
        file = shlex.quote(str(root / files[0].path))
        ways.append(f"cp -p {file} {file}.copy && mv {file}.copy {file}")
    elif files:
        each = """sh -c 'cp -p "$1" "$1.copy" && mv "$1.copy" "$1"' _ {}"""
        ways.append(f"find {shlex.quote(str(root))} -type f -links +1 -exec {each} \\;")
    if others:
        ways.append(f"put a regular file in the place of {', '.join(str(root / each.path) for each in others[:SHOWN])}")
    return "; then ".join(ways)
