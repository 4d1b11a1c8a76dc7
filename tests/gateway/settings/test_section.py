"""Addresses in the configuration name one machine, whoever reads them."""

from pathlib import Path

import pytest

from gateway.config.reading import parse_config
from gateway.errors import ConfigError

FILE = Path("config.toml")


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/?#evil.com",
        "https://127.0.0.1?#evil.com",
        "https://127.0.0.1#evil.com",
        "https://127.0.0.1?evil.com",
        "https://user@127.0.0.1",
        "https://evil.com\\\\@127.0.0.1",
        "https://127.0.0.1:0",
        "https://127.0.0.1:65536",
        "https://127.0.0.1:8o",
        "https://example.org:99999",
        "https://exa mple.org",
        " https://example.org",
        "https://example.org ",
        "https://[::1",
        "https://[::zz]",
        "https://",
        "https:// ",
        "https://-example.org",
        "",
        " ",
    ],
)
def test_an_address_that_two_readers_could_take_for_two_machines_is_refused(url: str) -> None:
    """With one line that names the setting; what is in it may be secret, and is not repeated."""
    for text in (f'[web]\npublic_url = "{url}"', f'[memory.rerank]\nbase_url = "{url}"'):
        if "rerank" in text and ("?evil" in url):
            continue  # a base address may carry a query
        with pytest.raises(ConfigError, match=r"web\.public_url|memory\.rerank\.base_url") as caught:
            parse_config(text, FILE)
        assert len(str(caught.value).splitlines()) == 1
        assert "evil" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://example.org", "https://a-b.example.org:8443", "https://[::1]:443"])
def test_an_address_as_people_write_it_is_taken(url: str) -> None:
    """As it stands, without a slash at its end."""
    assert parse_config(f'[web]\npublic_url = "{url}/"', FILE).web.public_url == url


@pytest.mark.parametrize("host", ["", " ", "user@127.0.0.1", "127.0.0.1:80", "127.0.0.1/?#evil.com", "[::1]", "a b"])
@pytest.mark.parametrize("table", ["gateway", "web"])
def test_where_the_gateway_listens_is_an_address_or_a_name_and_nothing_else(table: str, host: str) -> None:
    """Also where other machines may reach it: a blank one would be every interface."""
    with pytest.raises(ConfigError, match=rf"{table}\.host: must be an IP address"):
        parse_config(f'[{table}]\nhost = "{host}"\nallow_remote = true', FILE)
    for fine in ("0.0.0.0", "::", "my-host.local"):
        assert parse_config(f'[{table}]\nhost = "{fine}"\nallow_remote = true', FILE).secret_sources() == ()
