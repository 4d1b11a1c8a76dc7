"""Decides, among several gateways, whether the local files of an agent are the authoritative copy."""

import fcntl
import os
import secrets

from msgspec import Struct

from gateway.errors import StoreError
from gateway.home import FILE_MODE, FOLDER_MODE, AgentHome, Home
from gateway.stores.disk import sync_folder
from gateway.stores.pins import KnownAgent, Pin

MEND = (
    "start a gateway where they are, or stop that one and copy the agent's folder from there. If they are lost, "
    "restore a backup here; to continue with the files here, run: strandline agents adopt {agent}"
)


EARLIER_KEPT = 64
"""Numbers of earlier claims in a mark; our choice.

Each allows one more consecutive claim whose outcome is unknown, or that a Redis has lost, before the store's count can
no longer be attributed.
"""


class ClaimMark(Struct, frozen=True):
    """A mark in an agent's folder: the claims under which a gateway worked with these files."""

    pin: Pin
    """The last claim; written before the store's record, so the claim may have failed."""
    earlier: tuple[str, ...] = ()
    """Numbers of the earlier claims, newest first: of the same files, each with a count one lower."""

    def __str__(self) -> str:
        return f"{self.pin}\n{' '.join(self.earlier)}".strip()

    @classmethod
    def read(cls, text: str) -> "ClaimMark | None":
        """Parse the result of `str`; `None` for anything else."""
        first, _, rest = text.strip().partition("\n")
        pin = Pin.read(first)
        return None if pin is None else cls(pin, tuple(rest.split()))

    def knows(self, pin: Pin) -> bool:
        """Return whether these files were claimed as *pin*, whose count is not higher than this mark's.

        Claims older than those in the mark are trusted.
        """
        numbers, back = (self.pin.number, *self.earlier), self.pin.claims - pin.claims
        return back >= len(numbers) or numbers[back] == pin.number


class FolderState(Struct, frozen=True):
    """The local state of one agent's folder."""

    mark: ClaimMark | None
    has_talked: bool
    """Transcripts exist; checked only for files without a mark, as this runs every second."""
    fault: str = ""
    """The reason that its mark cannot be read."""


def inspect_folder(folder: AgentHome) -> FolderState:
    mark, fault = None, ""
    try:
        mark = ClaimMark.read(folder.mark.read_text("utf-8", "replace"))
        fault = "" if mark else f"{folder.mark} is damaged"
    except FileNotFoundError:
        pass
    except OSError as exc:
        fault = f"{folder.mark} cannot be read ({exc.strerror})"
    has_talked = not (mark or fault) and (any(folder.sessions.glob("*.jsonl")) or any(folder.archive.glob("*.jsonl*")))
    return FolderState(mark, has_talked, fault)


def objection(here: FolderState, known: KnownAgent) -> str:
    """Return the reason that the files *here* are not the authoritative copy; empty if they are.

    A mark ahead of the store is valid: it is written first, and a Redis may have lost its last write. It is invalid if
    the store counts another gateway's claim: both had the same files, and the other one continued with its own.
    """
    mark, pin = here.mark, known.pin
    if here.fault:
        return here.fault
    if pin is None:
        return ""
    if mark is None:
        return "its files are somewhere else"
    if mark.pin.identity != pin.identity:
        return "its files are somewhere else, and others are here"
    if mark.pin.claims < pin.claims:
        return "an older copy of its files is here"
    return "" if mark.knows(pin) else "only a copy of its files is here, and it continued with another"


def is_new(here: FolderState, known: KnownAgent) -> bool:
    """Return whether any gateway may start the agent: no files of it are known anywhere."""
    return known.pin is None and here.mark is None and not here.has_talked


def next_claim(here: FolderState) -> ClaimMark:
    """Return the mark of the next claim, by a gateway with the authoritative files."""
    number, last = secrets.token_hex(4), here.mark
    if last is None:
        return ClaimMark(Pin(secrets.token_hex(8), 1, number))
    earlier = (last.pin.number, *last.earlier)[:EARLIER_KEPT]
    return ClaimMark(Pin(last.pin.identity, last.pin.claims + 1, number), earlier)


def write_mark(home: Home, agent: str, mark: ClaimMark | None) -> None:
    """Write *mark* durably to the agent's folder; `None` removes it.

    The caller holds the folder's lock. Raises OSError.
    """
    folder = home.agent(agent)
    folder.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if mark is None:
        folder.mark.unlink(missing_ok=True)
    else:
        home.write(folder.mark, f"{mark}\n")
    sync_folder(folder.root)


def volume_of(home: Home) -> str:
    """Return a name for the volume of the agents' folders: the same for all gateways that share it, and for no copy.

    A copy of the file has its content, but not its inode number, or is on another file system. Times of the file do not
    count:
    a change of its owner or its rights, as a cluster makes when it mounts a volume, gives it new ones.
    Raises StoreError.
    """
    file = home.agents / ".volume"
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            token = _token_in(handle)
            return f"{token}-{os.fstat(handle).st_ino}-{os.fstatvfs(handle).f_fsid:x}"
        finally:
            os.close(handle)
    except OSError as exc:
        raise StoreError(f"{file} cannot be created: {exc.strerror}") from exc


def _token_in(handle: int) -> str:
    """Return the random text in the file, written by its first opener."""
    fcntl.flock(handle, fcntl.LOCK_EX)  # until it is closed: gateways may start at the same moment
    token = os.pread(handle, 2 * _TOKEN_BYTES, 0).decode("ascii", "replace")
    if len(token) < 2 * _TOKEN_BYTES:
        token = secrets.token_hex(_TOKEN_BYTES)
        os.pwrite(handle, token.encode(), 0)
        os.fsync(handle)
    return token


_TOKEN_BYTES = 8
