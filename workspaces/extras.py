"""Optional packages: the command that installs one where this program runs."""

import shlex
import sys


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of *extra* for this interpreter, at the versions tried.

    It names them and not `strandline[extra]`, which no index may hold where a clone or a wheel was installed.
    """
    from importlib import metadata, util  # a tenth of what the memory worker imports, for a message that is rare

    try:
        declared = metadata.requires("strandline") or []
    except metadata.PackageNotFoundError:  # run from its folder, never installed
        declared = []
    parts = (each.replace('"', "'").partition(";") for each in declared)
    wanted = [name.strip() for name, _, marker in parts if f"'{extra}'" in marker]
    pip = [sys.executable, "-m", "pip", "install"]
    if util.find_spec("pip") is None:  # an environment of uv
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*pip, *(wanted or [f"strandline[{extra}]"])])
