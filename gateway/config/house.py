"""Settings of the mark `house`: the owner's own machines, and the folders that carry the mark."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from gateway.settings.section import Section
from workspaces.errors import BadPathError
from workspaces.paths import clean_path


def _relative(folder: str) -> str:
    """Return *folder* as a path in a workspace."""
    try:
        place = clean_path(folder)
    except BadPathError as exc:
        raise ValueError(str(exc)) from exc
    if place == PurePosixPath():
        raise ValueError("is the whole workspace; name a folder in it")
    return str(place)


_HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:_-]+$", max_length=255, to_lower=True)]
_HostAndPort = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]+:[0-9]{1,5}$", max_length=260)]
_Folder = Annotated[str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_relative)]
_ServerName = Annotated[str, StringConstraints(min_length=1, max_length=24)]


class HouseSettings(Section):
    """Where text with the mark `house` may be read."""

    hosts: tuple[_HostName, ...] = ()
    """Further machines of the owner, by the names or addresses that `base_url` and `url` have."""
    elsewhere: tuple[_HostAndPort, ...] = ()
    """Addresses of the owner's machines that lead elsewhere: a proxy or a tunnel, as `host:port`."""
    folders: tuple[_Folder, ...] = ()
    """Folders of every workspace; all their files carry the mark."""
    chat_apps: bool = True
    """Whether chat apps, which run elsewhere, may carry such text in the owner's own chats."""
    tool_servers: tuple[_ServerName, ...] = ()
    """Programs of `[mcp]` that pass nothing on; one at an address is judged by its host."""
