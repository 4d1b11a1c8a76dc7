"""A Redis by TLS, with a password, behind a sentinel: who is let in, and the one line that says what is wrong."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import ConnectionError as RedisConnectionError
from redis import RedisError

from gateway.cli.doctor.servers import check_servers
from gateway.config import Config
from gateway.errors import ConfigError
from gateway.settings.stores import Tls
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.server import RedisAddress, describe_error, server_of
from tests.fakes.certificates import Authority, Signed, can_sign
from tests.fakes.redis_server import RedisServer, free_port, program
from tests.fakes.redis_several import watched

SECRETS = {"REDIS": "of the server", "SENTINEL": "of the sentinel", "WRONG": "neither"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if not can_sign() or program("redis") is None:
        pytest.skip("needs openssl, and a Redis that was built with TLS")
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def ours(authority: Authority) -> Signed:
    return authority.sign("ours", "IP:127.0.0.1")


def tls_options(authority: Authority, signed: Signed, port: int, *, clients: str) -> tuple[str, ...]:
    """Return how a server is told to listen by TLS; *clients* says whether they need a certificate too."""
    files = ("--tls-cert-file", signed.cert, "--tls-key-file", signed.key, "--tls-ca-cert-file", authority.ca)
    return "--tls-port", str(port), *map(str, files), "--tls-auth-clients", clients


@pytest.fixture(scope="module")
def ports(authority: Authority, ours: Signed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """Servers by TLS: one that lets everybody in, one that wants a certificate, one with another host's."""
    other = authority.sign("other", "DNS:elsewhere.example")
    ways = {"open": (ours, "no"), "mutual": (ours, "yes"), "other": (other, "no")}
    ports = {name: free_port() for name in ways}
    with ExitStack() as stack:
        for name, (signed, clients) in ways.items():
            options = tls_options(authority, signed, ports[name], clients=clients)
            server = RedisServer("redis", tmp_path_factory.mktemp(name), *options)
            server.start()
            stack.callback(server.kill)
        yield ports


def at(url: str, **settings: str) -> RedisAddress:
    """Return the server of these settings."""
    server = server_of(Config.model_validate({"redis": {"url": url, **settings}}).redis, SECRETS)
    server.timeout_s = 1
    return server


async def test_a_gateway_works_by_tls(authority: Authority, ours: Signed, ports: dict[str, int]) -> None:
    """With an authority of the owner's, and with a certificate of ours where one is asked for."""
    mine = {"cert_file": str(ours.cert), "key_file": str(ours.key)}
    for name, more in (("open", {}), ("mutual", mine)):
        server = at(f"rediss://127.0.0.1:{ports[name]}/0", ca_file=str(authority.ca), **more)
        leases = await RedisLeases.join(server, "p", name, 60, accept_loss=False)
        assert await leases.claim(["agent:a"]) == ["agent:a"]
        await leases.leave()


@pytest.mark.parametrize(
    ("name", "host", "knows_authority", "said"),
    [
        ("open", "127.0.0.1", False, "is not signed by a trusted authority .* in redis.ca_file"),
        ("open", "localhost", True, "is another host's; name the host that it is for in redis.url"),
        ("other", "127.0.0.1", True, "is another host's"),
        ("mutual", "127.0.0.1", True, "requires a client certificate; name it in redis.cert_file and redis.key_file"),
    ],
)
async def test_who_is_not_trusted_is_told_in_a_line(
    authority: Authority, ports: dict[str, int], name: str, host: str, knows_authority: bool, said: str
) -> None:
    """Whichever side trusts not, the setting is named; doctor says the same."""
    files = {"ca_file": str(authority.ca)} if knows_authority else {}
    url = f"rediss://{host}:{ports[name]}/0"
    server = at(url, **files)
    with pytest.raises(RedisError) as refusal:
        await server.connect()
    assert re.search(said, describe_error(refusal.value, server))
    config = Config.model_validate({"redis": {"url": url, **files}})
    (finding,) = [finding async for finding in check_servers(config, SECRETS)]
    assert finding.level.value == "fail"
    assert re.search(said, finding.detail)


@pytest.mark.parametrize(
    "read",
    [
        "Error 104 while writing to socket. Connection reset by peer.",
        "Error UNKNOWN while writing to socket. Connection lost.",
    ],
)
def test_a_connection_that_ends_before_the_refusal_is_read_is_told_alike(read: str) -> None:
    """Which of the two is read first is chance; who has a certificate, or uses no TLS, is told of neither."""
    reset = RedisConnectionError(read)
    said = "perhaps it requires a client certificate; name it in redis.cert_file"
    assert said in describe_error(reset, RedisAddress("rediss://h:1/0"))
    assert said not in describe_error(reset, RedisAddress("redis://h:1/0"))
    assert said not in describe_error(reset, RedisAddress("rediss://h:1/0", tls=Tls(cert_file=Path("ours.pem"))))


def test_files_that_are_no_certificates_are_refused_at_start(tmp_path: Path, ours: Signed) -> None:
    """The setting and the file are named; so are settings that do not go together."""
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    with pytest.raises(ConfigError, match=r"redis\.ca_file: .*nothing\.pem holds no certificate"):
        at("rediss://127.0.0.1:1/0", ca_file=str(nothing))
    with pytest.raises(ConfigError, match=r"redis\.ca_file: .*missing\.pem"):
        at("rediss://127.0.0.1:1/0", ca_file=str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match=r"redis\.cert_file: .*nothing\.pem and its key cannot be used"):
        at("rediss://127.0.0.1:1/0", cert_file=str(nothing), key_file=str(ours.key))
    for url, settings, said in (
        ("redis://127.0.0.1:1/0", {"ca_file": str(ours.cert)}, "begins with rediss"),
        ("rediss://127.0.0.1:1/0", {"cert_file": str(ours.cert)}, "belong together"),
        ("rediss://127.0.0.1:1/0", {"sentinel_password_env": "SENTINEL"}, "begins with redis.sentinel"),
    ):
        with pytest.raises(ValueError, match=said):
            at(url, **settings)


async def test_a_primary_and_a_sentinel_may_have_passwords(authority: Authority) -> None:
    """Each has its own, and the one that is wrong is named."""
    del authority  # skips without a server
    with watched("redis", password=SECRETS["REDIS"], sentinel_password=SECRETS["SENTINEL"]) as three:
        await let_in(at(three.url, password_env="REDIS", sentinel_password_env="SENTINEL"))
        await shut_out(at(three.url, password_env="WRONG", sentinel_password_env="SENTINEL"), "redis.password_env")
        await shut_out(at(three.url, sentinel_password_env="SENTINEL"), "redis.password_env")
        await shut_out(at(three.url, password_env="REDIS"), "redis.sentinel_password_env")
        wrong = at(three.url, password_env="REDIS", sentinel_password_env="WRONG")
        await shut_out(wrong, "redis.sentinel_password_env")


async def let_in(server: RedisAddress) -> None:
    client = await server.connect()
    await client.aclose()


async def shut_out(server: RedisAddress, named: str) -> None:
    """Assert that *server* lets us not in, and that the line for it names one setting."""
    with pytest.raises(RedisError) as refusal:
        await server.connect()
    line = describe_error(refusal.value, server)
    assert line.endswith(f"check {named}")
    assert not any(secret in line for secret in SECRETS.values())


def test_secrets_of_redis_are_kept_out_of_logs() -> None:
    """Both are among the configured secrets, so the redactor knows them."""
    settings = {"url": "redis+sentinel://h/x/0", "password_env": "REDIS", "sentinel_password_env": "SENTINEL"}
    keys = [source.key for source in Config.model_validate({"redis": settings}).secret_sources()]
    assert {"redis.password_env", "redis.sentinel_password_env"} <= set(keys)
