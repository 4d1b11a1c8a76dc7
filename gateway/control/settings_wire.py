"""The settings with which a gateway runs, as commands ask for them."""

from typing import Literal

from msgspec import Struct

from gateway.control.order import Order

SETTINGS_PATH = "/control/settings"


class SettingsReport(Struct, frozen=True):
    """The state of a running gateway's settings."""

    digest: str = ""
    """Digest of the files with which it runs."""
    seen: str = ""
    """Digest of the files that it looked at last; another one than `digest` if those cannot be used."""
    fault: str = ""
    """Why they cannot be used; it continues with the earlier ones."""
    restart: tuple[str, ...] = ()
    """Keys whose change takes effect at the next start."""


class SettingRow(Struct, frozen=True):
    """A setting that its owner changes on the page."""

    key: str
    """Dotted, as `strandline config set` takes it."""
    subject: str
    """The agent, group or part that it belongs to."""
    label: str
    value: str
    """As in the file or by default; text without quotes."""
    choices: tuple[str, ...] = ()
    """The only values, if there are few."""
    widens: bool = False
    """It decides who is answered or what others' words are read: a change needs a second word."""


class OwnerSettingsAnswer(Struct, frozen=True):
    """The settings, and the action taken."""

    rows: tuple[SettingRow, ...] = ()
    outcome: str = ""


class OwnerSettingsOrder(Order[OwnerSettingsAnswer], frozen=True):
    """A request for the settings that people change, or to change one of them."""

    act: Literal["list", "set"]
    key: str = ""
    value: str = ""
    is_sure: bool = False
    """The second word for a setting that widens access."""
