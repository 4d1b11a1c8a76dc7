"""This file tells, among several gateways, whether the files of an agent that are here are the ones it worked with."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.errors import StoreError
from gateway.home import FILE_MODE, FOLDER_MODE, AgentHome, Home
from gateway.stores.pins import Known, Pin

if TYPE_CHECKING:
    from filelock import FileLock

MEND = (
    "start a gateway where they are, or, with that one stopped, copy the agent's folder from there. Are they lost, "
    "restore a backup here; to go on with what is here, run: strandline agents adopt {agent}"
)


@dataclass(frozen=True, slots=True)
class Found:
    """What lies in one agent's folder here."""

    mark: Pin | None
    has_talked: bool
    """There are transcripts; asked only of files without a mark, as this is done every second."""
    fault: str = ""
    """Why its mark cannot be read."""


def found(folder: AgentHome) -> Found:
    """Look into *folder*."""
    mark, fault = None, ""
    try:
        mark = Pin.read(folder.mark.read_text("utf-8", "replace"))
        fault = "" if mark else f"{folder.mark} is damaged"
    except FileNotFoundError:
        pass
    except OSError as exc:
        fault = f"{folder.mark} cannot be read ({exc.strerror})"
    has_talked = not (mark or fault) and (any(folder.sessions.glob("*.jsonl")) or any(folder.archive.glob("*.jsonl*")))
    return Found(mark, has_talked, fault)


def objection(here: Found, known: Known) -> str:
    """Say why the files *here* are not those that the store's agent worked with; empty if they are.

    A mark ahead of the store is right: it is written first, and a Redis may have lost what it was told last.
    """
    mark, pin = here.mark, known.pin
    if here.fault:
        return here.fault
    if pin is None:
        unseen = known.had_messages and mark is None and not here.has_talked
        return "it has conversations, and none of them is here" if unseen else ""
    if mark is None:
        return "its files are somewhere else"
    if mark.identity != pin.identity:
        return "its files are somewhere else, and others are here"
    return "an older copy of its files is here" if mark.claims < pin.claims else ""


def is_new(here: Found, known: Known) -> bool:
    """Say whether any gateway may begin with the agent: no files of it are known anywhere."""
    return known.pin is None and here.mark is None and not here.has_talked


def renewed(here: Found, known: Known) -> Pin:
    """Return the pin of the next claim, by a gateway that has the right files."""
    both = [pin for pin in (here.mark, known.pin) if pin is not None]
    return Pin(both[0].identity if both else secrets.token_hex(8), max((pin.claims for pin in both), default=0) + 1)


def lock_of(home: Home, agent: str) -> "FileLock":
    """Return the lock of who works on the agent's files; taken, it is refused at once with filelock's Timeout."""
    from filelock import FileLock

    return FileLock(home.agents / f".{agent}.lock", blocking=False)


def write_mark(home: Home, agent: str, mark: Pin | None) -> None:
    """Put *mark* into the agent's folder so that it outlives a power cut; `None` takes it out.

    The caller holds the folder's lock. Raises OSError.
    """
    folder = home.agent(agent)
    folder.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if mark is None:
        folder.mark.unlink(missing_ok=True)
    else:
        home.write(folder.mark, f"{mark}\n")
    _sync(folder.root)


def volume_of(home: Home) -> str:
    """Return a name for the place of the agents' folders: the same for all gateways that share it, and for no copy.

    A copy of the file has all of it but the time at which its file system made it. Raises StoreError.
    """
    file = home.agents / ".volume"
    try:
        os.close(
            os.open(file, os.O_RDONLY | os.O_CREAT, FILE_MODE)
        )  # `touch` would give a file that is there new times
        made = file.stat()
    except OSError as exc:
        raise StoreError(f"{file} cannot be made: {exc.strerror}") from exc
    return f"{made.st_ino}-{made.st_ctime_ns}"


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
