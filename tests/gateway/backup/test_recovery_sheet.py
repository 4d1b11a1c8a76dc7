"""The recovery sheet, and the key typed from it."""

import pytest

from gateway.backup.recovery_sheet import key_on_sheet, recovery_sheet
from gateway.backup.seal import BackupKey
from gateway.errors import BackupError

KEY = BackupKey(bytes(range(100, 132)))


def groups() -> str:
    sheet = recovery_sheet(KEY, "/home", "/home/backups", "2026-11-24")
    return " ".join(line.strip() for line in sheet.split("\n")[5:8])


def test_the_key_is_read_back_from_the_sheet_however_it_is_typed() -> None:
    """With blanks, without, in capitals, and as the QR code holds it."""
    for typed in (groups(), groups().replace(" ", ""), groups().upper(), "strandline:" + groups().replace(" ", "")):
        assert key_on_sheet(typed) == KEY


def test_a_slip_is_noticed() -> None:
    """A wrong digit anywhere, two swapped, a missing one, something else."""
    typed = groups().replace(" ", "")
    slips = [typed[:at] + ("0" if typed[at] != "0" else "1") + typed[at + 1 :] for at in range(len(typed))]
    slips += [typed[:10] + typed[11] + typed[10] + typed[12:], typed[:-1], "", "the key", typed + "0"]
    for slip in (each for each in slips if each != typed):
        with pytest.raises(BackupError, match="this is not the key of a recovery sheet"):
            key_on_sheet(slip)
