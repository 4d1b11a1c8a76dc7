"""The settings with which a gateway runs, as commands ask for them."""

from dataclasses import dataclass

SETTINGS_PATH = "/control/settings"


@dataclass(frozen=True, slots=True)
class SettingsReport:
    """The state of a running gateway's settings."""

    digest: str = ""
    """Digest of the files with which it runs."""
    seen: str = ""
    """Digest of the files that it looked at last; another one than `digest` if those cannot be used."""
    fault: str = ""
    """Why they cannot be used; it continues with the earlier ones."""
    restart: tuple[str, ...] = ()
    """Keys whose change takes effect at the next start."""
