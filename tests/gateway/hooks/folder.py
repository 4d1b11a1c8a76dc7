"""Fixtures: the owner's code in a folder for hooks."""

from pathlib import Path


def put(folder: Path, name: str, text: str, mode: int = 0o600) -> None:
    """Write a file, and the folder that it stands in, as the owner would."""
    file = folder / name
    folder.mkdir(mode=0o700, exist_ok=True)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(mode)


def program(folder: Path, name: str, body: str) -> None:
    """Write a program: a shell script with *body*."""
    put(folder, name, f"#!/bin/sh\n{body}\n", 0o700)
