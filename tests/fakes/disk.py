"""Full disks: a small file system in memory, which a test may fill, and a limit for all files."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size_mb: int = 64) -> Iterator[Path]:
    """Mount one of *size_mb* at *folder* while the block runs; the test is skipped where nothing may be mounted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "none", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a file system of its own needs the right to mount one: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Let the system refuse every byte beyond *size* of a file, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fill(folder: Path, spare: int = 0) -> Path:
    """Fill the file system of *folder* up to *spare* bytes with one file, which is returned."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1_000_000, 4_096, 1):
            try:
                while not spare or _free(folder) >= spare + size:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
