"""Every preset in cluster/ is what its reader takes, and says of workers what all need."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

import dcsvm_dask
from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.runtime.cluster.file import KINDS, QUEUES, read_cluster

FOLDER = Path(__file__).parents[1] / "cluster"
DOCS = FOLDER.parent / "docs"
DOCKERFILE = FOLDER / "Dockerfile"
COMPOSE, KUBERNETES = FOLDER / "compose.yaml", FOLDER / "kubernetes.yaml"
OURS = sorted(set(FOLDER.glob("*.yaml")) - {COMPOSE, KUBERNETES})
WORKER = (
    "--nthreads 1",
    "--memory-limit",
    "--dashboard-address 127.0.0.1:0",
    "--preload-nanny dcsvm_dask.runtime.preload",
)


def shown(file: Path) -> str:
    found = CliRunner().invoke(main, ["cluster", str(file)])
    assert found.exit_code == 0, found.output
    return " ".join(found.output.split())


def test_there_is_a_preset_for_every_kind() -> None:
    assert sorted(read_cluster(file).kind for file in OURS) == sorted(KINDS)


def test_a_local_cluster_is_shown() -> None:
    said = shown(FOLDER / "laptop.yaml")
    assert "would start 2 worker process(es) on this machine" in said
    assert "1 thread and 2.00 GiB" in said
    assert "worker.memory.spill = False" in said


@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_shows_its_job(kind: str) -> None:
    said = shown(FOLDER / f"{kind}.yaml")
    for words in (
        *WORKER,
        f"would submit 2 to 16 job(s), as the tasks need, of 1 worker(s) to {kind}",
        "--memory-limit 4.00GiB",
        "--protocol tls://",
        "unset NUMBA_CACHE_DIR",
        "export OMP_NUM_THREADS=1",
        "export DASK_DISTRIBUTED__NANNY__PRELOAD=dcsvm_dask.runtime.preload",
        "export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=15s",
        "export DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False",
        f"dcsvm train ... --cluster {FOLDER / kind}.yaml",
    ):
        assert words in said, words


def test_slurm_shows_what_it_asks_for() -> None:
    said = shown(FOLDER / "slurm.yaml")
    for words in ("--cpus-per-task=1", "--mem=4600M", "-t 04:00:00", "--lifetime 220m"):
        assert words in said, words


def test_ssh_shows_the_same_by_hand() -> None:
    said = shown(FOLDER / "ssh.yaml")
    assert "by `ssh node0`: /opt/dcsvm/bin/python -m dask scheduler" in said
    assert "by `ssh node2`: /opt/dcsvm/bin/python -m dask worker tls://node0:8786" in said
    assert "-m dask scheduler --protocol tls --dashboard-address 127.0.0.1:8787" in said
    assert "export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True" in said
    for who in ("scheduler", "worker", "client"):
        name = f"DASK_DISTRIBUTED__COMM__TLS__{who.upper()}__"
        assert f"export {name}CERT=/opt/dcsvm/certificates/{who}.pem" in said
        assert f"export {name}KEY=/opt/dcsvm/certificates/{who}-key.pem" in said
    assert all(words in said for words in WORKER)
    assert "--dashboard-address 127.0.0.1:8787" in said


@pytest.mark.parametrize(
    ("file", "command"),
    [(COMPOSE, "docker compose -f {} up --build --detach"), (KUBERNETES, "kubectl apply -f {}")],
)
def test_what_others_apply_is_shown_with_their_command(file: Path, command: str) -> None:
    said = shown(file)
    assert command.format(file) in said
    assert "dask worker" in said
    assert all(words in said for words in WORKER)


def test_compose_is_what_its_specification_allows() -> None:
    schema = resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    found = yaml.safe_load(COMPOSE.read_text())
    jsonschema.validate(found, json.loads(schema.read_text()))
    for service in found["services"].values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_compose_takes_its_file() -> None:
    docker = shutil.which("docker")
    words = [docker or "", "compose"]
    if docker is None or subprocess.run([*words, "version"], capture_output=True).returncode:
        pytest.skip("needs docker compose; its specification is tested above")
    done = subprocess.run([*words, "-f", COMPOSE, "config", "--quiet"], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_kubernetes_takes_the_pods_and_the_service() -> None:
    """The operator's own schema is that of these around `replicas`."""
    cluster, scaler, _ = yaml.safe_load_all(KUBERNETES.read_text())
    scheduler, worker = cluster["spec"].pop("scheduler"), cluster["spec"].pop("worker")
    assert cluster["spec"] == {}
    assert set(scheduler) == {"spec", "service"}
    assert set(worker) == {"replicas", "spec"}
    assert isinstance(worker["replicas"], int)
    for kind, spec in (
        ("Pod", scheduler["spec"]),
        ("Service", scheduler["service"]),
        ("Pod", worker["spec"]),
    ):
        kubernetes_validate.validate(resource(kind, spec), "1.33", strict=True)
    assert scaler["spec"]["cluster"] == cluster["metadata"]["name"]
    assert scheduler["service"]["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    wrong = {**worker["spec"], "contaners": []}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(resource("Pod", wrong), "1.33", strict=True)


def test_kubernetes_lets_only_the_clusters_own_pods_and_the_operator_in() -> None:
    cluster, _, policy = yaml.safe_load_all(KUBERNETES.read_text())
    kubernetes_validate.validate(policy, "1.33", strict=True)
    own = {"matchLabels": {"dask.org/cluster-name": cluster["metadata"]["name"]}}
    assert policy["spec"]["podSelector"] == own
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    pods, operator = policy["spec"]["ingress"]
    assert pods == {"from": [{"podSelector": own}]}
    assert operator["ports"] == [{"protocol": "TCP", "port": 8787}]
    assert "namespaceSelector" in operator["from"][0]
    assert cluster["spec"]["scheduler"]["service"]["type"] == "ClusterIP"


def test_no_container_runs_as_root() -> None:
    user = re.findall(r"^USER (.*)$", DOCKERFILE.read_text(), re.MULTILINE)
    assert len(user) == 1
    assert int(user[0]) >= 1000
    assert f"--uid {user[0]} " in DOCKERFILE.read_text()
    cluster, *_ = yaml.safe_load_all(KUBERNETES.read_text())
    for part in ("scheduler", "worker"):
        for container in cluster["spec"][part]["spec"]["containers"]:
            context = container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["runAsUser"] == int(user[0])
            assert context["allowPrivilegeEscalation"] is False


def test_images_are_named_by_digest() -> None:
    """Those of others by an argument without a default; the own one by the package's version."""
    text = DOCKERFILE.read_text()
    assert re.findall(r"^FROM (.*)$", text, re.MULTILINE) == ["python:3.11-slim@${PYTHON_DIGEST}"]
    assert re.findall(r"^ARG (.*)$", text, re.MULTILINE) == ["PYTHON_DIGEST"]
    own = f"dcsvm-dask:{dcsvm_dask.__version__}"
    assert f"-t {own} --build-arg PYTHON_DIGEST=sha256:" in text
    compose = yaml.safe_load(COMPOSE.read_text())
    required = r"\$\{[A-Z]+_DIGEST:\?[^}]+\}"
    for service in compose["services"].values():
        if "build" in service:
            assert service["image"] == own
            assert re.fullmatch(required, service["build"]["args"]["PYTHON_DIGEST"])
        else:
            assert re.fullmatch(rf"[a-z/]+:[0-9.]+@{required}", service["image"])
    cluster, *_ = yaml.safe_load_all(KUBERNETES.read_text())
    for part in ("scheduler", "worker"):
        assert [one["image"] for one in cluster["spec"][part]["spec"]["containers"]] == [own]


def test_the_image_installs_files_by_hash_and_nothing_else() -> None:
    text = DOCKERFILE.read_text()
    installs = [line for line in text.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes -r /src/cluster/requirements.txt" in installs[0]
    assert "--no-deps --no-index --no-build-isolation" in installs[1]
    lines = (FOLDER / "requirements.txt").read_text().replace("\\\n", "").splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    form = re.compile(r"([a-z0-9.-]+)==(\S+)( +--hash=sha256:[0-9a-f]{64})+")
    found = [form.fullmatch(line) for line in lines]
    assert all(found), [line for line, one in zip(lines, found, strict=True) if one is None]
    versions = {one[1]: one[2] for one in found if one is not None}
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += [one for extra in ("parquet", "report", "s3") for one in extras[extra]]
    assert {re.split("[^a-z0-9-]", one)[0] for one in wanted} <= set(versions)
    tested = dict(
        line.lower().replace("_", "-").split("==")
        for line in (FOLDER.parent / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    for name, version in versions.items():
        assert tested.get(name, version) == version, f"{name}: run python cluster/lock.py"


def test_no_documented_command_shows_the_dashboard_to_the_network() -> None:
    """But for containers, whose ports are published on loopback or guarded by a policy."""
    form = re.compile(r"^ {4,}(dask (?:scheduler|worker)(?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
    pages = [*FOLDER.glob("*.md"), FOLDER.parent / "README.md", *DOCS.rglob("*.md")]
    commands = [
        " ".join(found.split()) for page in pages for found in form.findall(page.read_text())
    ]
    assert len(commands) >= 5
    for command in commands:
        assert "--dashboard-address 127.0.0.1:" in command, command


def test_neither_keys_nor_data_nor_runs_get_into_an_image() -> None:
    lines = (FOLDER.parent / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    kept = {line.removeprefix("!") for line in rules if line.startswith("!")}
    assert kept == {
        *("dcsvm_dask", "cluster/requirements.txt", "pyproject.toml", "README.md", "LICENSE")
    }
    assert {"**/*.pem", "**/*.zarr"} <= set(rules[len(kept) :])


def test_neither_keys_nor_data_nor_runs_get_into_a_commit(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    X = [[k % 7, k % 5] for k in range(60)]
    data = api.ingest((X, [k % 2 for k in range(60)]), tmp_path / "some.zarr")
    here = api.Execution(workers=0)
    api.train(data.place, tmp_path / "any" / "name", execution=here, quiet=True).report()
    for name in ("authority-key.pem", "certs/worker.pem", "certs/server.key"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("secret")
    shutil.copy(FOLDER.parent / ".gitignore", tmp_path)
    (tmp_path / "mine.py").write_text("")

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "--quiet")
    git("add", ".")
    assert git("ls-files").split() == [".gitignore", "mine.py"]


def resource(kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def test_pages_name_files_that_are_there() -> None:
    for page in (FOLDER / "README.md", DOCS / "clusters.md", *(DOCS / "clusters").glob("*.md")):
        for name in re.findall(r"(?:cluster/|`)([a-z]+\.(?:yaml|md|sh))", page.read_text()):
            known = (FOLDER / name).exists() or (
                FOLDER.parent / "dcsvm_dask/runtime" / name
            ).exists()
            assert known, f"{page.name}: {name}"
