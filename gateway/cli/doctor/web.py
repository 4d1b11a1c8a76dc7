"""Checks of `strandline doctor` for the HTTP server: the page, API tokens, the port."""

from collections.abc import AsyncIterator, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from gateway.control.finding import Finding, Level
from gateway.errors import ConfigError

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.config.web import WebSettings

PATIENCE_S = 20.0
"""Seconds that a listener at the port may take to answer: our own takes some on a busy machine. Our choice."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # asked on loopback, not bound
_TLS = "put a TLS proxy in front of it, and set its https address as web.public_url: strandline docs http"


async def check_http_door(config: "Config", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Check the HTTP server, if enabled; a missing token was reported before."""
    if not config.web.enabled:
        yield Finding("page", Level.OK, "off; to open it on this machine: strandline config set web.enabled true")
        return
    for finding in (*_tokens(config, environ), *_ways(config.web)):
        yield finding
    if config.web.port:
        yield await _port(config.web)


def _tokens(config: "Config", environ: Mapping[str, str]) -> Iterator[Finding]:
    from gateway.web.api_tokens import ApiTokens

    try:
        for source in config.web.secret_sources():
            source.read(environ)
    except ConfigError:
        return
    try:
        ApiTokens.of(config.web, config.agents, environ)
    except ConfigError as exc:
        yield Finding("page", Level.FAIL, str(exc), "openssl rand -base64 24 makes a token")


def _ways(web: "WebSettings") -> Iterator[Finding]:
    is_tls = (web.public_url or "").startswith("https:")
    if web.allow_remote and not is_tls:
        yield Finding("page", Level.WARN, f"{web.host} may be reached from other machines without TLS", _TLS)
    elif web.public_url is not None and not is_tls:
        yield Finding("page", Level.WARN, f"{web.public_url} has no TLS: codes and tokens are sent unencrypted", _TLS)
    if not web.port:
        mend = "set web.port = 8181, or another port"
        yield Finding("page", Level.WARN, "web.port is 0: its address changes with each start", mend)


async def _port(web: "WebSettings") -> Finding:
    """Report the listener at the page's port."""
    import httpx2

    here = _EVERYWHERE.get(web.host, web.host)
    address = f"http://[{here}]:{web.port}" if ":" in here else f"http://{here}:{web.port}"
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            answer = await client.get(f"{address}/chat/me")
    except httpx2.ConnectError:
        return Finding("page", Level.OK, f"{address} is free; the page opens there when the gateway starts")
    except httpx2.HTTPError:
        return _port_finding(address)
    if answer.status_code != HTTPStatus.UNAUTHORIZED or "sign in first" not in answer.text:
        return _port_finding(address)
    return Finding("page", Level.OK, f"open at {address}; strandline web login signs a browser in")


def _port_finding(address: str) -> Finding:
    return Finding("page", Level.FAIL, f"another program listens at {address}", "choose another web.port, or stop it")
