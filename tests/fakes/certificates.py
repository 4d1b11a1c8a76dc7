"""Certificates for loopback servers, signed by a test authority."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.patience import PATIENCE_S

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def can_sign() -> bool:
    """Tell whether the program that creates them is installed."""
    return shutil.which("openssl") is not None


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates; its own is `ca`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ca = folder / "ca.pem"
        made = ("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=strandline", "-days", "2")
        self._run("req", "-x509", *_KEY, *made, "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # as 3.13 wants it

    def sign(self, name: str, host: str, days: int = 2) -> Signed:
        """Return a certificate for *host*, such as `IP:127.0.0.1` or `DNS:localhost`."""
        self._run("req", *_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self._folder / "extensions").write_text(f"subjectAltName={host}\nauthorityKeyIdentifier=keyid\n")
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days), "-extfile", "extensions")
        self._run("x509", "-req", "-in", f"{name}.csr", *signer, "-out", f"{name}.pem")
        return Signed(self._folder / f"{name}.pem", self._folder / f"{name}.key")

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True, timeout=PATIENCE_S)
