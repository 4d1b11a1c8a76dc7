"""Intake of a message's attachments: files are fetched once, stored beside the notes, and described."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import structlog
from msgspec import Struct, field

from adapters.channel import Attachment, AttachmentKind, ChannelError, ChatKind, InboundMessage
from gateway.agent.agent import Agent
from gateway.agent.entries import Picture
from gateway.agent.unread_files import NOT_READABLE, NOT_SHOWN, NOT_TRANSCRIBED
from gateway.delivery.waker import Wake
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, Outgoing
from gateway.turns.downloads import Fetcher, TooLargeToTakeError, once
from gateway.turns.settings import AttachmentSettings
from workspaces.access import Access, AgentId
from workspaces.attachments import DownloadedFile, cleaned_name, store
from workspaces.errors import TooLargeError, WorkspaceError, WorkspaceUnusableError
from workspaces.lazy_pattern import lazy_pattern

log = structlog.get_logger()

TOO_LARGE = "attachment_too_large"
TOO_MANY = "attachment_too_many"
NO_ROOM = "attachment_no_room"
NOT_FETCHED = "attachment_not_fetched"
LONG_PASTE = "long_paste"
"""Reason codes for content that was not taken in unchanged."""

LONGEST_SIDE = 8_000
"""Longest side of a picture that models are shown, in pixels: providers reject or shrink larger ones. Our choice."""
_HEAD_CHARS, _TAIL_CHARS = 4_000, 1_000
"""Parts of a long paste that a model is shown: as much of it as of a long tool result."""
_PASTE_BYTES = 1_000_000
"""Largest file of a split paste: `read_file` takes twice as much."""
_MIME = lazy_pattern(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")
_TEXTS = frozenset({".txt", ".md", ".csv", ".json", ".yaml", ".yml", ".toml", ".xml", ".html", ".py", ".log", ".ics"})
_WORDS = {
    AttachmentKind.PHOTO: "photo",
    AttachmentKind.DOCUMENT: "file",
    AttachmentKind.VOICE: "voice note",
    AttachmentKind.AUDIO: "sound",
    AttachmentKind.VIDEO: "video",
    AttachmentKind.STICKER: "sticker",
}
_SPOKEN = {AttachmentKind.VOICE, AttachmentKind.AUDIO, AttachmentKind.VIDEO}


class _MessageAttachments(Struct, frozen=True):
    """One message while it is taken in, for one turn."""

    row: InboxRow
    access: Access
    agent: Agent
    lines: list[str] = field(default_factory=list)
    """Descriptions of the files for the model, one line each."""
    notices: list[str] = field(default_factory=list)
    """Notices for the sender: sentences."""
    pictures: list[Picture] = field(default_factory=list)

    @property
    def message(self) -> InboundMessage:
        return self.row.message

    def tells(self, line: str, notice: str = "") -> None:
        """Describe a file to the model, and notify its sender of the outcome unless all is well."""
        self.lines.append(f"[{line}]")
        if notice:
            self.notices.append(notice)


class TakenIn(Struct, frozen=True):
    """A message in the form that the conversation stores."""

    text: str
    """Its text, and a line for each file."""
    pictures: tuple[Picture, ...] = ()
    """Its pictures, for a model that accepts images."""

    def unseen(self) -> "TakenIn":
        """Return it for a model that accepts no images: its pictures are described as such."""
        text = self.text
        for each in self.pictures:
            text = text.replace(f"{each.path}]", f"{each.path}{NOT_SHOWN}]")
        return TakenIn(text)


TakeIn = Callable[[InboxRow, Access, Agent], Awaitable[TakenIn]]
"""The signature of `Intake`."""


class Intake:
    """Stores a message's attachments in the workspace of the agent that answers it.

    This happens before the message is written to the transcript: after a crash between the two it is repeated, and
    finds the files that exist already.
    """

    def __init__(
        self,
        store: Store,
        fetcher: Fetcher,
        folders: Mapping[AgentId, Path],
        wake: Wake,
        settings: AttachmentSettings = AttachmentSettings(),  # noqa: B008  # frozen
    ) -> None:
        """*folders*, by agent, hold files while they are fetched; *wake* is called with notices queued for sending."""
        self._store = store
        self._fetcher = fetcher
        self._folders = folders
        self._wake = wake
        self._settings = settings

    async def __call__(self, row: InboxRow, access: Access, agent: Agent) -> TakenIn:
        """Return the message in the form that the conversation stores, with its files described.

        Raises WorkspaceUnusableError and StoreError: then nothing is lost, and the call is to be repeated.
        """
        taken = _MessageAttachments(row, access, agent)
        text = await self._text(taken)
        most = self._settings.per_message
        for number, attachment in enumerate(row.message.attachments[:most]):
            await self._take(taken, attachment, self._folders[agent.id] / f"{row.turn_id}.{number}")
        if (count := len(row.message.attachments)) > most:
            taken.tells(
                f"{count - most} more files: not taken",
                f"I accepted {most} of your {count} files: send the others again.",
            )
            await self._store.count(TOO_MANY, count - most)
        await self._tell(taken)
        return TakenIn("\n".join(filter(None, [text, *taken.lines])), tuple(taken.pictures))

    async def _take(self, taken: _MessageAttachments, attachment: Attachment, spool: Path) -> None:
        if attachment.kind is AttachmentKind.STICKER:  # a sticker's meaning is its emoji, which is the text
            taken.tells("sticker")
            return
        name, kind = cleaned_name(attachment.name, attachment.mime), _WORDS[attachment.kind]
        try:
            incoming = await self._fetcher.fetch(taken.message, attachment, spool, name, self._settings.file_bytes)
            path = await taken.agent.run(store, taken.agent.workspace, taken.access, incoming)
        except TooLargeToTakeError:
            most = f"{self._settings.file_bytes // 1024 // 1024} MB"
            taken.tells(f"{kind}: {name}; not taken: larger than {most}", f"{name} is larger than {most}: not taken.")
            await self._store.count(TOO_LARGE)
        except TooLargeError:
            taken.tells(f"{kind}: {name}; not kept: no room", f"I have no space for {name}: it is not kept.")
            await self._store.count(NO_ROOM)
        except WorkspaceUnusableError:
            raise
        except (ChannelError, TimeoutError, WorkspaceError) as exc:
            taken.tells(f"{kind}: {name}; it could not be fetched", f"I could not fetch {name}: please send it again.")
            log.warning("attachment not fetched", why=type(exc).__name__)
            await self._store.count(NOT_FETCHED)
        else:
            taken.tells(_describe(attachment, incoming, str(path)))
            await self._note_picture(taken, incoming, str(path))
        finally:
            await self._fetcher.remove(spool)

    async def _note_picture(self, taken: _MessageAttachments, incoming: DownloadedFile, path: str) -> None:
        """Record *incoming*, still in the spool, as a picture if it is of a kind that models accept."""
        if len(taken.pictures) == self._settings.pictures or incoming.size > self._settings.picture_bytes:
            return
        facts = await self._fetcher.picture(incoming)
        if facts is not None and max(facts.width, facts.height) <= LONGEST_SIDE:
            taken.pictures.append(Picture(path, facts.mime, incoming.size, facts.width, facts.height))

    async def _text(self, taken: _MessageAttachments) -> str:
        """Return the message's text; a very long one is stored as files, and cut to its ends."""
        text = taken.message.text
        if len(text) <= self._settings.paste_chars:
            return text
        await self._store.count(LONG_PASTE)
        spool = self._folders[taken.agent.id] / f"{taken.row.turn_id}.text"
        try:
            paths = [await self._store_paste(taken, part, spool) for part in pasted_parts(text)]
        except TooLargeError:  # then the transcript keeps it whole
            await self._store.count(NO_ROOM)
            return text
        finally:
            await self._fetcher.remove(spool)
        count = text.count("\n") + 1
        lines = f"{count:,} lines"
        taken.notices.append(f"Your message has {lines}: I keep all of it as a file and read its beginning and end.")
        marker = f"[… of {lines}, {len(text):,} characters. read_file shows all of it: {', '.join(paths)} …]"
        return f"{text[:_HEAD_CHARS]}\n{marker}\n{text[-_TAIL_CHARS:]}"

    async def _store_paste(self, taken: _MessageAttachments, part: bytes, spool: Path) -> str:
        incoming = await self._fetcher.spool(once(part), spool, "message.txt", len(part))
        return str(await taken.agent.run(store, taken.agent.workspace, taken.access, incoming))

    async def _tell(self, taken: _MessageAttachments) -> None:
        """Notify the sender, once, of content not taken in unchanged; in a group only if the agent was addressed."""
        message = taken.message
        if not (taken.notices and message.is_for_us):
            return
        reply_to = message.reply_target if message.kind is ChatKind.GROUP else None
        said = Outgoing(message.address, "\n".join(taken.notices), reply_to)
        if notice := await self._store.notify(f"files:{taken.row.turn_id}", said):
            self._wake([notice])


def pasted_parts(text: str) -> Iterator[bytes]:
    """Split *text*, at line ends where possible, into parts of at most a megabyte that together are all of it."""
    rest = text.encode("utf-8", "replace")
    while len(rest) > _PASTE_BYTES:
        end = rest.rfind(b"\n", 0, _PASTE_BYTES) + 1 or _PASTE_BYTES
        while (rest[end] & 0xC0) == 0x80:  # inside a character
            end -= 1
        yield rest[:end]
        rest = rest[end:]
    if rest:
        yield rest


def _describe(attachment: Attachment, incoming: DownloadedFile, path: str) -> str:
    """Return the description for the model: kind, name, type, size and path."""
    kind = _WORDS[attachment.kind]
    named = incoming.name if attachment.name else ""
    mime = attachment.mime if _MIME.fullmatch(attachment.mime) else ""
    facts = ", ".join(filter(None, [named, mime, f"{incoming.size:,} bytes", path]))
    return f"{kind}: {facts}{_hint(attachment, path)}"


def _hint(attachment: Attachment, path: str) -> str:
    if attachment.kind in _SPOKEN:
        return NOT_TRANSCRIBED
    if attachment.mime.startswith("text/") or Path(path).suffix.lower() in _TEXTS:
        return "; read_file shows it"
    return NOT_READABLE if attachment.kind is AttachmentKind.DOCUMENT else ""
