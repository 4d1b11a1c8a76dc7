import re
import shutil
import stat
import subprocess
import tomllib
from importlib.metadata import distributions, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency, for this file alone
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gateway.cli.main import COMMANDS
from gateway.config import Config

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ["requirements.lock", "requirements-dev.lock"]


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package in *lock*."""
    text = (ROOT / lock).read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)(?:\[[^]]*\])?==([^\s;]+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_packages_and_hashes_and_no_place(lock: str) -> None:
    """It works against any index, and only with the very files that were locked."""
    text = (ROOT / lock).read_text("utf-8")
    assert "://" not in text
    assert not re.search(r"^(-|file:|/)", text, re.MULTILINE)
    for package in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if package.strip():
            assert "--hash=sha256:" in package, package.splitlines()[0]


def test_the_locks_satisfy_the_project() -> None:
    """Every requirement is pinned, to a version that it allows; a forgotten `make lock` shows here."""
    wanted = {
        "requirements.lock": [
            *PROJECT["project"]["dependencies"],
            *PROJECT["project"]["optional-dependencies"]["anthropic"],
            *PROJECT["project"]["optional-dependencies"]["google"],
            *PROJECT["project"]["optional-dependencies"]["mcp"],
            *PROJECT["project"]["optional-dependencies"]["redis"],
        ],
        "requirements-dev.lock": PROJECT["dependency-groups"]["dev"],
    }
    for lock, requirements in wanted.items():
        pinned = pins(lock)
        for requirement in map(Requirement, requirements):
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement.name} is not in {lock}"
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} in {lock}"


def test_tests_run_on_what_is_shipped() -> None:
    """What both locks hold, they hold in the same version."""
    shipped, tested = pins("requirements.lock"), pins("requirements-dev.lock")
    assert {name: tested.get(name) for name in shipped} == shipped


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_the_extras_that_packages_ask_for(lock: str) -> None:
    """Without them pip looks at the newest release of such a package, and refuses it for want of a hash."""
    text = (ROOT / lock).read_text("utf-8")
    extras = {
        name: set(given.split(",")) for name, given in re.findall(r"^([a-z0-9.-]+)\[([^]]+)\]==", text, re.MULTILINE)
    }
    for package in pins(lock).keys() & {canonicalize_name(each.name) for each in distributions()}:
        for requirement in map(Requirement, requires(package) or []):
            if requirement.extras and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                given = extras.get(canonicalize_name(requirement.name), set())
                assert requirement.extras <= given, f"{package} asks for {requirement}; run `make lock`"


def test_the_wheel_holds_the_pages_that_strandline_docs_shows(tmp_path: Path) -> None:
    """Each by its name beside the code, without pictures and measurements; a checkout in use is not copied."""
    builder = WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if "docs/" in name}
    assert held == {f"gateway/docs/{file.name}": file.read_bytes() for file in (ROOT / "docs").glob("*.md")}
    (editable,) = builder.build(directory=str(tmp_path / "editable"), versions=["editable"])
    with ZipFile(editable) as archive:
        assert archive.read("_strandline.pth").decode() == str(ROOT)


# --- the container


def test_the_container_is_built_from_what_is_there() -> None:
    """Each file that the Dockerfile copies exists and passes its ignore list; dependencies are installed by hash."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    let_in = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sources = [source for line in re.findall(r"^COPY (.+)$", dockerfile, re.MULTILINE) for source in line.split()[:-1]]
    assert {"requirements.lock", *PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in let_in, source
    assert "--require-hashes" in dockerfile


def test_the_container_runs_as_nobody_special_and_looks_where_it_listens() -> None:
    """By a number, to which the home belongs; the health check asks the port that the command opens."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    user = re.search(r"^USER ([1-9]\d*):([1-9]\d*)$", dockerfile, re.MULTILINE)
    assert user is not None
    assert f"--uid {user[1]} --gid {user[2]} " in dockerfile
    assert f"--owner={user[1]} --group={user[2]} --mode=0700 /data" in dockerfile
    started = re.search(r'"--port", "(\d+)"', dockerfile)
    assert started is not None
    assert f"127.0.0.1:{started[1]}/healthz" in dockerfile


def test_the_dockerfile_follows_what_linters_ask_for() -> None:
    """A named base, little from apt and no lists of it, no ADD, programs as lists; by hadolint itself where it is."""
    file = ROOT / "deploy" / "Dockerfile"
    instructions = re.findall(r"^([A-Z]+) (.+)$", file.read_text("utf-8").replace("\\\n", " "), re.MULTILINE)
    assert {"ADD", "MAINTAINER", "SHELL"}.isdisjoint(name for name, _ in instructions)
    for name, rest in instructions:
        assert name != "FROM" or re.search(r":\d", rest), "a base image has a version"
        assert name not in {"CMD", "ENTRYPOINT"} or rest.startswith("["), "signals reach the program itself"
        if "apt-get install" in rest:
            assert "--no-install-recommends" in rest
            assert "rm -rf /var/lib/apt/lists/*" in rest
    if (hadolint := shutil.which("hadolint")) is not None:
        subprocess.run([hadolint, str(file)], check=True)


def test_compose_publishes_the_page_to_this_machine_alone_and_keeps_the_home() -> None:
    """At the address that the page about operation sets, the home outlives it, and no secret stands in the file."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    gateway = compose["services"]["gateway"]
    text = (ROOT / "docs/operations.md").read_text("utf-8")
    values = re.findall(r"exec gateway strandline config set web\.(\w+) (\S+)", text)
    page = Config.model_validate({"web": dict(values)}).web
    assert gateway["ports"] == [f"127.0.0.1:{page.port}:{page.port}"]
    assert (page.enabled, page.host, page.public_url) == (True, "0.0.0.0", f"http://127.0.0.1:{page.port}")
    assert (ROOT / gateway["build"]["dockerfile"]).is_file()
    assert gateway["volumes"] == ["home:/data"]
    assert "home" in compose["volumes"]
    secrets = [value for name, value in gateway["environment"].items() if name.endswith(("_KEY", "_TOKEN"))]
    assert all(value.startswith("${") for value in secrets)


def test_commands_for_containers_name_the_program_once() -> None:
    """The image's entry point is the program, which `run` keeps and `exec` does not."""
    assert 'ENTRYPOINT ["strandline"]' in (ROOT / "deploy/Dockerfile").read_text("utf-8").splitlines()
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    ran = re.findall(r"docker compose run (?:--\w+ )*gateway (\w+)", pages)
    assert ran
    assert set(ran) <= {entry.name for entry in COMMANDS}
    assert set(re.findall(r"docker compose exec gateway (\w+)", pages)) == {"strandline"}


def test_ci_runs_the_readmes_command() -> None:
    """The same script for people and machines."""
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    text = script.read_text("utf-8")
    assert "make test" in text
    assert "make check" in text
    assert "make test" in (ROOT / "README.md").read_text("utf-8")
