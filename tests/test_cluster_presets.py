"""Every preset in cluster/ is what its reader takes, and says of workers what all need."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from dcsvm_dask.cli import main
from dcsvm_dask.runtime.cluster_file import KINDS, QUEUES, read_cluster

FOLDER = Path(__file__).parents[1] / "cluster"
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
    assert "by `ssh node2`: /opt/dcsvm/bin/python -m dask worker tcp://node0:8786" in said
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
    cluster, scaler = yaml.safe_load_all(KUBERNETES.read_text())
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


def resource(kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def test_pages_name_files_that_are_there() -> None:
    for page in FOLDER.glob("*.md"):
        for name in re.findall(r"(?:cluster/|`)([a-z]+\.(?:yaml|md|sh))", page.read_text()):
            known = (FOLDER / name).exists() or (
                FOLDER.parent / "dcsvm_dask/runtime" / name
            ).exists()
            assert known, f"{page.name}: {name}"
