"""What the owner sets about the HTTP door."""

from pathlib import Path

import pytest

from gateway.config.reading import parse_config
from gateway.errors import ConfigError

FILE = Path("config.toml")


@pytest.mark.parametrize("host", ["agents.example.org", "192.168.1.5:8181", "127.0.0.1.example.org", "2130706433"])
def test_a_public_address_without_tls_needs_an_explicit_word(host: str) -> None:
    """The line names the word; on this machine alone none is needed."""
    text = f'[web]\npublic_url = "http://{host}"\n'
    with pytest.raises(ConfigError, match=r"public_url has no TLS.*allow_plain_http = true"):
        parse_config(text, FILE)
    assert parse_config(f"{text}allow_plain_http = true", FILE).web.public_url == f"http://{host}"
    for own in ("localhost:8181", "127.0.0.1:8181", "[::1]:8181"):
        assert parse_config(f'[web]\npublic_url = "http://{own}"', FILE).web.public_url == f"http://{own}"
