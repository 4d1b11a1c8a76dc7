"""The recovery sheet: the key of a home's backups on paper, and reading it back."""

import hashlib
import io
import re
import textwrap

from gateway.backup.seal import BackupKey
from gateway.errors import BackupError
from workspaces.lazy_pattern import lazy_pattern

_GROUP, _A_LINE = 4, 8
_CHECK_DIGITS = 8
_DIGITS = lazy_pattern(r"[0-9a-f]{72}")
"""The key, and the beginning of its sha256: a slip of the pen is noticed."""
_ON_PAPER = str.maketrans("█ ▀▄", " █▄▀")
"""A terminal is dark, and paper is not."""


def recovery_sheet(key: BackupKey, home: str, backups: str, day: str) -> str:
    """Return the text to print: the key in groups, as a QR code, and the steps of a recovery."""
    import segno

    code = io.StringIO()
    segno.make(f"strandline:{_digits(key)}", error="m").terminal(code, compact=True)
    groups = textwrap.wrap(_digits(key), _GROUP)
    lines = [" ".join(groups[at : at + _A_LINE]) for at in range(0, len(groups), _A_LINE)]
    picture = code.getvalue().translate(_ON_PAPER)
    return "\n".join(
        [
            f"Strandline recovery sheet, {day}",
            f"Key {key.name} of {home}",
            "",
            "Whoever has this sheet and a backup can read everything in it. Keep it on paper, away from the machine.",
            "",
            *(f"    {line}" for line in lines),
            "",
            picture,
            "To recover on an empty machine:",
            "  1. Install Strandline, and bring the newest file from",
            f"     {backups}",
            "     or from wherever it was copied to.",
            "  2. strandline restore FILE --key       and type the groups above, in one line.",
            "  3. Set the keys and tokens again: strandline keys set NAME. They are in no backup.",
            "  4. strandline up",
        ]
    )


def key_on_sheet(typed: str) -> BackupKey:
    """Return the key that somebody *typed* from a sheet. Raises BackupError for a slip."""
    digits = re.sub(r"[\s:-]|strandline", "", typed.casefold())
    if not _DIGITS.fullmatch(digits) or _digits(key := BackupKey(bytes.fromhex(digits[:-_CHECK_DIGITS]))) != digits:
        raise BackupError(
            "this is not the key of a recovery sheet: 18 groups of 4 digits, 0 to 9 and a to f; compare it"
        )
    return key


def _digits(key: BackupKey) -> str:
    return key.secret.hex() + hashlib.sha256(key.secret).hexdigest()[:_CHECK_DIGITS]
