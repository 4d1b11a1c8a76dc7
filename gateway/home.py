"""Home folder of a gateway: everything that it stores, and the lock of the process that owns it."""

import json
import os
import pwd
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct, structs

from gateway.errors import HomeLockedError, StoreError
from workspaces.folder_lock import FolderLockedError, folder_lock

FOLDER_MODE = 0o700
FILE_MODE = 0o600
DISABLED_CODE = "disabled-code.json"


class AgentHome(Struct, frozen=True):
    root: Path

    @property
    def workspace(self) -> Path:
        """Markdown, the source of truth; `agents.<id>.workspace` may name another location."""
        return self.root / "workspace"

    @property
    def history(self) -> Path:
        """The workspace's git history, outside of it."""
        return self.root / "history.git"

    @property
    def mark(self) -> Path:
        """Identifies, where several gateways share a store, this copy of the agent's files."""
        return self.root / "mark"

    @property
    def sessions(self) -> Path:
        """One transcript a session."""
        return self.root / "sessions"

    @property
    def archive(self) -> Path:
        """Transcripts of ended sessions."""
        return self.sessions / "archive"

    @property
    def outgoing(self) -> Path:
        """Copies of the files that its answers enclose, until they are delivered."""
        return self.root / "outgoing"

    @property
    def incoming(self) -> Path:
        """Files that are being fetched."""
        return self.root / "incoming"

    @property
    def index(self) -> Path:
        """The search index; it may be deleted at any time."""
        return self.root / "index"


class ControlFile(Struct, frozen=True):
    """Connection data of the gateway that owns a home."""

    address: str
    """For example `http://127.0.0.1:8123`."""
    token: str
    pid: int

    def __repr__(self) -> str:
        return f"ControlFile(address={self.address!r}, pid={self.pid})"


class Home(Struct, frozen=True):
    """The folder of one gateway; `~/.strandline` by default."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.toml"

    @property
    def secrets_file(self) -> Path:
        """Keys and tokens by name; they replace environment variables of the same name."""
        return self.path / "secrets.toml"

    @property
    def state_db(self) -> Path:
        return self.path / "state.db"

    @property
    def agents(self) -> Path:
        return self.path / "agents"

    @property
    def removed(self) -> Path:
        """Removed agents, with all their files."""
        return self.path / "removed"

    @property
    def hooks(self) -> Path:
        """The owner's own code, in plain Python files."""
        return self.path / "hooks"

    @property
    def disabled_code(self) -> Path:
        """While it exists, no hook of the home and no command of a tool server runs: a restore brought them along."""
        return self.path / DISABLED_CODE

    @property
    def runs_code(self) -> bool:
        """Whether hooks of the home and commands of tool servers may run."""
        return not os.path.lexists(self.disabled_code)

    def disabled(self) -> tuple[str, ...]:
        """Return the hooks and commands that came with a restore and do not run; all, if the file cannot be read."""
        if self.runs_code:
            return ()
        try:
            return tuple(str(each) for each in json.loads(self.disabled_code.read_text("utf-8"))["disabled"])
        except (OSError, ValueError, KeyError, TypeError):
            return ("all hooks and tool servers",)

    @property
    def control_file(self) -> Path:
        return self.path / "run" / "control.json"

    @property
    def work_journal(self) -> Path:
        """Names the work in progress, for the start after a crash."""
        return self.path / "run" / "work-journal"

    @property
    def backups(self) -> Path:
        """Backups that the gateway made by itself, unless the settings name another place."""
        return self.path / "backups"

    @property
    def backups_file(self) -> Path:
        """Names the outcomes of the latest automatic backup and restore on trial."""
        return self.path / "run" / "backups.json"

    @property
    def version_file(self) -> Path:
        """Names the version of the program that used it last."""
        return self.path / "run" / "version"

    @property
    def last_version(self) -> str:
        """Return the version of the program that used it last; empty if that is unknown."""
        try:
            return self.version_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def crash_report(self) -> Path:
        """The stacks of a run that crashed or froze."""
        return self.path / "run" / "crash-report"

    @property
    def spool(self) -> Path:
        """Accepted messages that have no answer yet, where Redis keeps the state."""
        return self.path / "run" / "spool.jsonl"

    @property
    def chat_history(self) -> Path:
        """Input history of the prompt of `strandline chat`."""
        return self.path / "run" / "chat_history"

    @property
    def exists(self) -> bool:
        """Whether it is a home made by Strandline; any other folder is left alone."""
        return self.agents.is_dir()

    @property
    def other_owner(self) -> str:
        """Name of the user whom it belongs to, where root runs the program and is not that user; else empty."""
        try:
            owner = self.path.stat().st_uid
        except OSError:
            return ""
        if os.geteuid() != 0 or owner == 0:
            return ""
        try:
            return pwd.getpwuid(owner).pw_name
        except KeyError:
            return f"#{owner}"

    def agent(self, agent: str) -> AgentHome:
        return AgentHome(self.agents / agent)

    def create(self) -> None:
        """Create the missing folders, closed to other users. Raises StoreError if that is not possible."""
        for folder in (self.path, self.agents, self.control_file.parent):
            self._make(folder)

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreError(f"the home {self.path} cannot be created: {exc.strerror}") from exc

    def write(self, file: Path, text: str) -> None:
        """Write *text* to *file*, atomically, readable by the owner only."""
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            fresh.replace(file)
        except OSError as exc:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise OSError(exc.errno, exc.strerror, str(file)) from exc  # a full disk comes without a name

    # --- ownership

    @contextmanager
    def lock(self, purpose: str) -> Iterator[None]:
        """Own the home while the block runs; *purpose* tells others the reason.

        Raises HomeLockedError, before anything is touched, when another process owns it.
        """
        with self.folder_lock(), self.run_folder(purpose):
            yield

    @contextmanager
    def folder_lock(self) -> Iterator[None]:
        """Lock out other processes while the block runs; a missing home is created, nothing else is written.

        The lock is on the folder itself: deleting files in it releases nothing. Raises HomeLockedError.
        """
        self._make(self.path)
        with ExitStack() as stack:
            try:
                stack.enter_context(folder_lock(self.path))
            except FolderLockedError as exc:
                raise HomeLockedError(self._owner_description()) from exc
            except OSError as exc:
                raise StoreError(f"the home {self.path} cannot be locked: {exc.strerror}") from exc
            yield

    @contextmanager
    def run_folder(self, purpose: str) -> Iterator[None]:
        """Remove the remains of a killed gateway, and publish this process while the block runs.

        The caller holds the lock.
        """
        self.create()
        try:
            self.control_file.unlink(missing_ok=True)
            self.write(self.holder_file, f"process {os.getpid()} ({purpose})")
            yield
        finally:
            self.control_file.unlink(missing_ok=True)
            self.holder_file.unlink(missing_ok=True)

    @contextmanager
    def announced(self, control: ControlFile) -> Iterator[None]:
        """Publish the connection data of this process, which owns the home."""
        self.write(self.control_file, json.dumps(structs.asdict(control)))
        try:
            yield
        finally:
            self.control_file.unlink(missing_ok=True)

    def control(self) -> ControlFile | None:
        """Return the connection data published by the owner of the home; `None` if there are none.

        It may have died since.
        """
        try:
            known = json.loads(self.control_file.read_text("utf-8"))
            return ControlFile(str(known["address"]), str(known["token"]), int(known["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def holder_file(self) -> Path:
        """Names the process that owns the home."""
        return self.path / "run" / "holder"

    @property
    def service_log(self) -> Path:
        """Log of a gateway that launchd starts, which rotates nothing."""
        return self.path / "run" / "service.log"

    def _owner_description(self) -> str:
        holder = holder_in(self.holder_file) or f"another process (fuser -v {self.path} names it)"
        control = self.control()
        where = f" at {control.address}" if control is not None else ""
        return f"the home {self.path} is in use by {holder}{where}; stop it first, or choose another --home"


def holder_in(file: Path) -> str:
    """Return the description of the lock's holder in *file*; empty if it has none."""
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
