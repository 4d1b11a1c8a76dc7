"""Attachments of a Telegram message; pure."""

from aiogram.types import Message, PhotoSize

from adapters.channel import Attachment, AttachmentKind


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Return the file of *message*, with the id for downloading it; Telegram sends one file per message."""
    found = _attachment(message)
    return () if found is None else (found,)


def _attachment(message: Message) -> Attachment | None:
    if message.photo:
        photo = max(message.photo, key=_area)
        return Attachment(AttachmentKind.PHOTO, photo.file_id, mime="image/jpeg", size=photo.file_size)
    if message.sticker:
        sticker = message.sticker
        mime = "video/webm" if sticker.is_video else "application/x-tgsticker" if sticker.is_animated else "image/webp"
        return Attachment(AttachmentKind.STICKER, sticker.file_id, sticker.set_name or "", mime, sticker.file_size)
    return _recording(message) or _document(message)


def _area(photo: PhotoSize) -> int:
    return photo.width * photo.height


def _recording(message: Message) -> Attachment | None:
    if (voice := message.voice) is not None:
        return Attachment(AttachmentKind.VOICE, voice.file_id, "", voice.mime_type or "audio/ogg", voice.file_size)
    if (note := message.video_note) is not None:
        return Attachment(AttachmentKind.VIDEO, note.file_id, "", "video/mp4", note.file_size)
    if (audio := message.audio) is not None:
        name = audio.file_name or audio.title or ""
        return Attachment(AttachmentKind.AUDIO, audio.file_id, name, audio.mime_type or "", audio.file_size)
    return None


def _document(message: Message) -> Attachment | None:
    """Return the document; an animation comes as one too, for programs without animations."""
    for kind, file in (
        (AttachmentKind.VIDEO, message.video),
        (AttachmentKind.VIDEO, message.animation),
        (AttachmentKind.DOCUMENT, message.document),
    ):
        if file is not None:
            return Attachment(kind, file.file_id, file.file_name or "", file.mime_type or "", file.file_size)
    return None
