"""TLS authentication of Redis and ourselves, and explanations of its failures."""

import ssl

from gateway.errors import ConfigError
from gateway.settings.stores import Tls


def tls_options(tls: Tls) -> dict[str, str]:
    """Return the options of redis-py."""
    named = {"ssl_ca_certs": tls.ca_file, "ssl_certfile": tls.cert_file, "ssl_keyfile": tls.key_file}
    return {name: str(file) for name, file in named.items() if file is not None}


def check_tls(tls: Tls) -> None:
    """Raise ConfigError, which names the setting, for an unusable file."""
    context = ssl.create_default_context()
    try:
        if tls.ca_file is not None:
            context.load_verify_locations(tls.ca_file)
    except OSError as exc:
        raise ConfigError(f"redis.ca_file: {tls.ca_file} holds no certificate that can be read ({exc})") from exc
    try:
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except OSError as exc:
        raise ConfigError(f"redis.cert_file: {tls.cert_file} and its key cannot be used ({exc})") from exc


_SAID = {
    "certificate has expired": "the certificate of {server} is out of date; renew it. It is tried again",
    "certificate verify failed: IP address mismatch": "the certificate of {server} is another host's; name the host "
    "that it is for in redis.url. It is tried again",
    "certificate verify failed: Hostname mismatch": "the certificate of {server} is another host's; name the host "
    "that it is for in redis.url. It is tried again",
    "certificate verify failed": "the certificate of {server} is not signed by a trusted authority ({exc}); "
    "name the authority's file in redis.ca_file. It is tried again",
    "certificate required": "{server} requires a client certificate; name it in redis.cert_file and "
    "redis.key_file. It is tried again",
    "wrong version number": "{server} does not speak TLS; write its address with redis in place of rediss. "
    "It is tried again",
}
"""Explanations by words of OpenSSL's errors; the first match applies."""


_BROKEN_OFF = ("reset by peer", "error 104", "broken pipe", "error 32", "closed by server", "connection lost")
_MAY_WANT_OURS = (
    "{server} closed the connection before it answered ({exc}); perhaps it requires a client certificate; name it in "
    "redis.cert_file and redis.key_file. It is tried again"
)
"""TLS 1.3 rejects a client without a certificate after the client considers itself connected: it may read either the
rejection or the end of the connection first."""


def tls_fault(exc: BaseException, *, lacks_certificate: bool = False) -> str:
    """Return a message for *exc* on a TLS connection, with placeholders for `server` and `exc`; else an empty text.

    *lacks_certificate*: TLS is used, and we have no client certificate.
    """
    words = str(exc).replace("_", " ").lower()
    if lacks_certificate and any(each in words for each in _BROKEN_OFF):
        return _MAY_WANT_OURS
    return next((said for error, said in _SAID.items() if error.lower() in words), "")
