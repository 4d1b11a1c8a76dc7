"""Where the owner's machines end, by the configured addresses of models, providers and tool servers."""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

from adapters.channel import Address, InboundMessage
from gateway.config.house import HouseSettings
from gateway.settings.section import is_loopback
from gateway.turns.house_notice import app_of, chat_app
from workspaces.access import Locality
from workspaces.house import HouseFolders

_PORTS = {"http": 80, "https": 443}


def is_here(house: HouseSettings, url: str | None) -> bool:
    """Return whether *url* leads to one of the owner's machines; without one, it does not."""
    try:
        parts = urlsplit(url or "")
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return False
    leads_on = (host_port.rpartition(":") for host_port in house.elsewhere)
    is_ours = is_loopback(host) or host in house.hosts
    return is_ours and (_machine(host), port) not in {(_machine(name), int(number)) for name, _, number in leads_on}


def _machine(host: str) -> str:
    """Return *host* in its usual spelling; this machine has one for all of its names."""
    name = host.lower().rstrip(".")
    return "localhost" if is_loopback(name) else name


def is_here_server(house: HouseSettings, name: str, url: str | None) -> bool:
    """Return whether the tool server *name*, at *url* or a program, keeps what it is told on the owner's machines."""
    return is_here(house, url) if url is not None else name in house.tool_servers


def chat_reader(house: HouseSettings, message: InboundMessage) -> Locality:
    """Return who carries the answer to *message*, as far as that matters for marked text."""
    return Locality.HERE if house.chat_apps or not app_of(message) else Locality.ELSEWHERE


def may_carry(house: HouseSettings, address: Address) -> bool:
    """Tell whether the chat at *address* may be shown marked text."""
    return house.chat_apps or not chat_app(address)


def house_folders(house: HouseSettings) -> HouseFolders:
    """Return the folders of every workspace whose files carry the mark `house`."""
    return HouseFolders(tuple(map(PurePosixPath, house.folders)))
