"""Archives that Strandline did not make, sealed so that only their content gives them away."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from gateway.backup import archive
from gateway.backup.archive import Head
from gateway.backup.seal import BackupKey, seal
from gateway.stores.sqlite.schema import VERSION

KEY = BackupKey(bytes(32))
HEAD = Head(format=archive.FORMAT, version="0.1.0", state=VERSION, made_at="2026-03-03T00:00:00Z")
Add = Callable[[tarfile.TarFile], object]


def forged(file: Path, files: Mapping[str, bytes], add: Add = lambda _: None, key: BackupKey = KEY) -> Path:
    """Write an archive of *files*, with a manifest that is right, and whatever *add* puts in front of that."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        put(tar, "backup.json", HEAD.model_dump_json().encode())
        for name, content in files.items():
            put(tar, name, content)
        add(tar)
        listed = {name: {"size": len(each), "sha256": hashlib.sha256(each).hexdigest()} for name, each in files.items()}
        put(tar, "manifest.json", json.dumps({"files": listed, "folders": []}).encode())
    return sealed(file, gzip.compress(plain.getvalue()), key)


def put(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a regular file."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def sealed(file: Path, packed: bytes, key: BackupKey = KEY) -> Path:
    """Write *packed* with its seal."""
    file.write_bytes(packed + seal(hashlib.sha256(packed).hexdigest(), key))
    return file
