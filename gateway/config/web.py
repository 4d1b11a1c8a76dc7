"""Settings of the HTTP server: its address and API tokens."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from gateway.settings.secrets import SecretSource, require_one_place
from gateway.settings.section import AgentName, EnvName, RootedPath, Section, ServerSection, Url, is_loopback


class ApiTokenSettings(Section):
    """A client of the OpenAI-compatible API, identified by its token."""

    token_env: EnvName | None = None
    token_file: RootedPath | None = None
    owner: bool = False
    """The owner's own token; other tokens are guests'."""
    agents: tuple[str, ...] = ()
    """Agents that a guest may talk to; the owner may talk to all."""
    chats_a_day: int = Field(default=50, ge=1, le=10_000)
    """Conversations that a guest may hold in a day (UTC)."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        require_one_place("token", self.token_env, self.token_file)
        if not self.owner and not self.agents:
            raise ValueError("a guest's token needs agents, the list of those that it may talk to")
        return self

    def token(self, name: str) -> SecretSource:
        """Return the source of the token; *name* is its name in the file."""
        return SecretSource.of(f"web.tokens.{name}.token", self.token_env, self.token_file)


def _without_path(url: str) -> str:
    if url.count("/") > 2 or "?" in url:
        raise ValueError("must end after the name, or the port, of the machine")
    return url


class WebSettings(ServerSection):
    """Address and clients of the HTTP API, the page and webhooks."""

    enabled: bool = False
    port: int = Field(default=8181, ge=0, le=65_535)
    public_url: Annotated[Url, AfterValidator(_without_path)] | None = None
    """Its address from outside, through a proxy that terminates TLS."""
    allow_plain_http: bool = False
    """`public_url` may be without TLS: codes, cookies and tokens are then sent unencrypted."""
    max_body_kb: int = Field(default=1_024, ge=16, le=65_536)
    tokens: dict[AgentName, ApiTokenSettings] = Field(default={})

    @model_validator(mode="after")
    def _is_encrypted_or_allowed(self) -> Self:
        parts = urlsplit(self.public_url or "")
        if parts.scheme == "http" and not (self.allow_plain_http or is_loopback(parts.hostname or "")):
            raise ValueError(
                "public_url has no TLS; codes and tokens would be sent unencrypted: write https://, or set "
                "allow_plain_http = true to mean it"
            )
        return self

    def secret_sources(self) -> list[SecretSource]:
        """Return the sources of the tokens; none are needed while the HTTP server is off."""
        return [held.token(name) for name, held in self.tokens.items()] if self.enabled else []
