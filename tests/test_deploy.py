"""What deploy/ promises about pods, services and containers, held against published schemas and against the program."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate  # type: ignore[import-untyped]  # it has no types
import pytest
import yaml  # type: ignore[import-untyped]  # as in test_packaging.py

from gateway.cli.connections import BotWish
from gateway.cli.scaffold import MODELS
from gateway.config.reading import parse_config
from gateway.home import Home
from gateway.runtime import http_connections
from tests.fakes.patience import PATIENCE_S
from workspaces.memory.index.embeddings.settings import KEY_ENVS

ROOT = Path(__file__).parent.parent
KUBERNETES = ROOT / "deploy" / "kubernetes"
COMPOSE = (ROOT / "docker-compose.yml").read_text("utf-8")
UNIT = ROOT / "deploy" / "systemd" / "strandline.service"
FOLDERS = sorted(file.parent for file in KUBERNETES.rglob("kustomization.yaml"))
KNOWN_KEYS = {
    *("apiVersion", "kind", "resources", "components", "configMapGenerator", "labels", "images"),
    *("replicas", "patches"),
}
"""The part of kustomize that is used here."""


def documents(file: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(file.read_text("utf-8")) if document]


def in_folder(folder: Path) -> list[dict[str, Any]]:
    """Return the resources that a kustomization brings, with those that it builds upon."""
    (kustomization,) = documents(folder / "kustomization.yaml")
    found = []
    for name in [*kustomization.get("resources", []), *kustomization.get("components", [])]:
        target = (folder / name).resolve()
        found += in_folder(target) if target.is_dir() else documents(target)
    return found


EVERYTHING = [
    (f"{r['kind']}/{r['metadata']['name']}", r) for f in FOLDERS if f.parent.name != "overlays" for r in in_folder(f)
]
PODS = [(name, each["spec"]["template"]["spec"]) for name, each in EVERYTHING if each["kind"] == "StatefulSet"]


# --- Kubernetes


def several() -> dict[str, dict[str, Any]]:
    """Return what the overlay of several gateways brings, by kind and name, its replicas and patches applied."""
    folder = KUBERNETES / "overlays" / "several"
    (kustomization,) = documents(folder / "kustomization.yaml")
    found = {f"{each['kind']}/{each['metadata']['name']}": each for each in in_folder(folder)}
    for each in kustomization["replicas"]:
        found[f"StatefulSet/{each['name']}"]["spec"]["replicas"] = each["count"]
    for each in kustomization["patches"]:
        target = found[f"{each['target']['kind']}/{each['target']['name']}"]
        for operation in yaml.safe_load((folder / each["path"]).read_text("utf-8")):
            add(target, operation)
    return found


def add(resource: dict[str, Any], operation: dict[str, Any]) -> None:
    """Do one operation of a JSON patch (RFC 6902): a new key of an object, or one more item of a list."""
    assert operation["op"] == "add"
    *way, last = operation["path"].removeprefix("/").split("/")
    place: Any = resource
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    if last == "-":
        place.append(operation["value"])
    else:
        assert last not in place, "it would be replaced"
        place[last] = operation["value"]


@pytest.mark.parametrize(("name", "resource"), EVERYTHING, ids=[name for name, _ in EVERYTHING])
def test_every_resource_fits_the_schema_of_kubernetes(name: str, resource: dict[str, Any]) -> None:
    """Strictly: a key that Kubernetes does not know is a mistake."""
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def test_a_misspelt_key_would_be_found() -> None:
    """The schemas that are used refuse what is not in them."""
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"selectr": {}}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(KUBERNETES)))
def test_a_kustomization_names_what_is_there(folder: Path) -> None:
    """Files, folders, and no key that this test does not know."""
    (kustomization,) = documents(folder / "kustomization.yaml")
    assert kustomization.keys() <= KNOWN_KEYS
    generated = [name for each in kustomization.get("configMapGenerator", []) for name in each["files"]]
    for name in [*kustomization.get("resources", []), *kustomization.get("components", []), *generated]:
        assert (folder / name).exists(), name
    named = {
        name
        for key in ("resources", "configMapGenerator")
        for name in [*kustomization.get(key, [])]
        if isinstance(name, str)
    }
    named |= {each["path"] for each in kustomization.get("patches", [])}
    for name in named:
        assert (folder / name).exists(), name
    unused = {file.name for file in folder.iterdir() if file.suffix in {".yaml", ".toml"}} - named - {*generated}
    assert unused <= {"kustomization.yaml"}


@pytest.mark.parametrize("file", sorted(KUBERNETES.rglob("config.toml")), ids=lambda file: file.parent.name)
def test_the_settings_of_each_overlay_are_read(file: Path) -> None:
    """By the program itself; a pod with wrong settings would never start."""
    parse_config(file.read_text("utf-8"), file)


@pytest.mark.parametrize(("name", "pod"), PODS, ids=[name for name, _ in PODS])
def test_a_pod_can_do_little(name: str, pod: dict[str, Any]) -> None:
    """Not root, no capability, no token of the cluster, nothing to write but its volumes, probes and a memory limit."""
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"readinessProbe", "livenessProbe"} <= container.keys()
    assert {"memory"} <= container["resources"]["limits"].keys()


def test_whatever_is_named_is_there() -> None:
    """Volumes that are mounted, services of sets, labels that selectors ask for, and a policy for every pod."""
    by_kind: dict[str, dict[str, dict[str, Any]]] = {}
    for _, each in EVERYTHING:
        by_kind.setdefault(each["kind"], {})[each["metadata"]["name"]] = each
    policies = [each["spec"]["podSelector"]["matchLabels"] for each in by_kind["NetworkPolicy"].values()]
    for name, each in by_kind["StatefulSet"].items():
        spec, labels = each["spec"], each["spec"]["template"]["metadata"]["labels"]
        assert by_kind["Service"][spec["serviceName"]]["spec"]["selector"] == labels == spec["selector"]["matchLabels"]
        volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
        mounts = spec["template"]["spec"]["containers"][0]["volumeMounts"]
        assert {mount["name"] for mount in mounts} == volumes, name
        assert labels in policies
    assert by_kind["PodDisruptionBudget"]["strandline"]["spec"]["selector"]["matchLabels"] in policies


OVERLAYS = sorted(folder for folder in FOLDERS if folder.parent.name == "overlays")
GATEWAY = {"app.kubernetes.io/name": "strandline"}


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda folder: folder.name)
def test_policies_let_a_gateway_reach_what_its_settings_name(overlay: Path) -> None:
    """Out of its pod, and into that of the server, which nobody else may enter."""
    found = in_folder(overlay)
    file = overlay / "config.toml"
    config = parse_config(file.read_text("utf-8") if file.exists() else "", file)
    policies = [each["spec"] for each in found if each["kind"] == "NetworkPolicy"]
    services = {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "Service"}
    for url in filter(None, (config.redis.url, config.qdrant.url)):
        parts = urlsplit(url)
        assert parts.port
        server = services[str(parts.hostname)]["selector"]
        assert lets(policies, "egress", GATEWAY, server, parts.port), url
        assert lets(policies, "ingress", server, GATEWAY, parts.port), url
        assert not lets(policies, "ingress", server, {"app.kubernetes.io/name": "another"}, parts.port), url
    assert not lets(policies, "ingress", GATEWAY, {"app.kubernetes.io/name": "another"}, 8420)


def lets(policies: list[Any], way: str, pod: dict[str, str], other: dict[str, str], port: int) -> bool:
    """Say whether one of *policies* lets *pod* and *other* talk, seen from *pod*; without one everything may pass."""
    mine = [
        each for each in policies if each["podSelector"]["matchLabels"] == pod and way.title() in each["policyTypes"]
    ]
    peers = "to" if way == "egress" else "from"
    rules = [rule for each in mine for rule in each[way]]
    return not mine or any(
        port in [each["port"] for each in rule["ports"]]
        and (peers not in rule or other in [peer["podSelector"]["matchLabels"] for peer in rule[peers]])
        for rule in rules
    )


@pytest.mark.parametrize(
    ("answer", "is_ready", "is_alive"),
    [("PONG", True, True), ("LOADING Redis is loading the dataset in memory", False, True), ("", False, False)],
)
def test_a_redis_that_reads_its_log_is_alive_and_not_ready(
    answer: str, is_ready: bool, is_alive: bool, tmp_path: Path
) -> None:
    """Killed for it, it would begin anew each time; a gateway waits for it."""
    (container,) = dict(PODS)["StatefulSet/strandline-redis"]["containers"]
    program = tmp_path / "redis-cli"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    for probe, wanted in (("readinessProbe", is_ready), ("livenessProbe", is_alive)):
        command = container[probe]["exec"]["command"]
        ended = subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False, timeout=30)
        assert (ended.returncode == 0) is wanted, probe


def test_a_qdrant_that_reads_its_collections_is_alive_and_not_ready() -> None:
    """Its two addresses differ in that; `/livez` answers as soon as it listens."""
    (container,) = dict(PODS)["StatefulSet/strandline-qdrant"]["containers"]
    paths = {probe: container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")}
    assert paths == {"readinessProbe": "/readyz", "livenessProbe": "/livez"}


def test_the_gateways_probes_ask_where_it_listens() -> None:
    """On loopback, as nothing listens elsewhere; and it gets longer to end than it takes to drain."""
    pod = dict(PODS)["StatefulSet/strandline"]
    (container,) = pod["containers"]
    port = container["args"][-1]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert f"http://127.0.0.1:{port}/" in container[probe]["exec"]["command"][-1]
    assert "ports" not in container
    assert pod["terminationGracePeriodSeconds"] > parse_config("", ROOT / "config.toml").limits.drain_s * 2
    assert pod["securityContext"]["runAsUser"] == int(re.findall(r"--uid (\d+)", dockerfile())[0])


def test_several_gateways_fit_the_schema_of_kubernetes() -> None:
    """Each resource, once replicas and patches are applied."""
    for each in several().values():
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed here")
def test_kubectl_applies_the_patches_as_these_tests_do() -> None:
    """What the tests of several gateways look at is what would be started; the names of settings get a hash."""
    command = ["kubectl", "kustomize", str(KUBERNETES / "overlays" / "several")]
    built = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    made = {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(built)}
    for name, each in several().items():
        assert _without_hashes(made[name]) == _without_hashes(each), name


def _without_hashes(resource: dict[str, Any]) -> Any:
    """Return what *resource* specifies, less the names that kustomize makes up: of the image and of settings."""
    spec = resource.get("spec")
    if spec and resource["kind"] == "StatefulSet":
        pod = spec["template"]["spec"]
        pod["containers"][0].pop("image")
        pod["volumes"] = [volume for volume in pod["volumes"] if "configMap" not in volume]
    return spec


def test_several_gateways_have_homes_of_their_own_and_share_the_agents() -> None:
    """One process owns a home; whoever takes over an agent finds its folder, on the one node that may mount it."""
    found = several()
    spec = found["StatefulSet/strandline"]["spec"]
    pod = spec["template"]["spec"]
    assert spec["replicas"] == 3
    mounted = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    home = Path("/data")
    assert mounted[str(home)] == spec["volumeClaimTemplates"][0]["metadata"]["name"]
    (shared,) = (each for each in pod["volumes"] if each["name"] == mounted[str(Home(home).agents)])
    claim = found[f"PersistentVolumeClaim/{shared['persistentVolumeClaim']['claimName']}"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    (rule,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == spec["selector"]["matchLabels"]
    assert found["PodDisruptionBudget/strandline"]["spec"]["maxUnavailable"] < spec["replicas"]


def test_several_gateways_have_their_leases_in_a_redis_and_an_agent_each() -> None:
    """Without a Redis each would have all agents; one without an agent is never ready, and a rollout never over."""
    file = KUBERNETES / "overlays" / "several" / "config.toml"
    config, found = parse_config(file.read_text("utf-8"), file), several()
    assert len(config.agents) >= found["StatefulSet/strandline"]["spec"]["replicas"]
    for url, service in ((config.redis.url, "strandline-redis"), (config.qdrant.url, "strandline-qdrant")):
        (port,) = found[f"Service/{service}"]["spec"]["ports"]
        assert urlsplit(str(url)).netloc == f"{service}:{port['port']}"


def dockerfile() -> str:
    return (ROOT / "deploy" / "Dockerfile").read_text("utf-8")


# --- compose


@pytest.mark.skipif(
    importlib.util.find_spec("compose_spec") is None, reason="compose-spec has no wheel for this system"
)
def test_the_compose_file_fits_the_compose_specification() -> None:
    """A key that it does not know is a mistake."""
    from compose_spec import PyCompose

    PyCompose.from_yaml(COMPOSE)
    with pytest.raises(ValueError, match="prots"):
        PyCompose.from_yaml(COMPOSE.replace("profiles: [qdrant]", "prots: [qdrant]"))


def test_every_container_of_compose_can_do_little() -> None:
    """The gateway starts alone; what else there is waits for its profile; no port leaves this machine."""
    services = yaml.safe_load(COMPOSE)["services"]
    assert {name for name, service in services.items() if "profiles" not in service} == {"gateway"}
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_compose_hands_on_every_key_that_the_program_asks_for() -> None:
    """Those of models, embedders and platforms, by their usual names."""
    given = yaml.safe_load(COMPOSE)["services"]["gateway"]["environment"]
    wanted = {each.variable for each in MODELS} | set(KEY_ENVS.values())
    wanted |= {BotWish(channel, "home").secret for channel in ("telegram", "discord")}
    assert wanted <= given.keys()


@pytest.mark.parametrize("text", [COMPOSE, (KUBERNETES / "components/redis/redis.yaml").read_text("utf-8")])
def test_a_redis_keeps_what_it_is_told(text: str) -> None:
    """An append-only file, on the disk before an answer, no eviction, a password."""
    for setting in ("appendonly yes", "appendfsync always", "maxmemory-policy noeviction", "requirepass"):
        assert setting in text


# --- systemd


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_the_unit_is_understood_and_hardened(tmp_path: Path) -> None:
    """No line that systemd does not know; exposure below 2 of 10 by its own measure."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/opt/strandline/bin/strandline", sys.executable))
    checked = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (checked.returncode, checked.stderr.strip()) == (0, "")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    rated = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert rated.returncode == 0, rated.stdout[-200:]


def test_the_unit_does_not_try_again_what_cannot_help() -> None:
    """The exit statuses are those that the page of commands gives; what was begun gets time to end."""
    text = UNIT.read_text("utf-8")
    assert "RestartPreventExitStatus=2 3" in text
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert "\n| 2 | wrong configuration or usage |\n| 3 | another process owns the home" in page
    assert "EnvironmentFile=-/etc/strandline/secrets.env" in text
    assert (
        int(re.findall(r"^LimitNOFILE=(\d+)$", text, re.MULTILINE)[0]) >= http_connections.SHARE * http_connections.MOST
    )
    assert re.search(
        r"ExecStart=/opt/strandline/bin/strandline up --home /var/lib/strandline --port \d+$", text, re.MULTILINE
    )
