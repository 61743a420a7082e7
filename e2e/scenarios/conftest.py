"""The cluster, the installed chart and the first RagBase, shared by all scenarios.

Each scenario leaves the shared RagBase as it found it; `ORDER` is the one in which they are told.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from e2e.cluster.binaries import UnavailableError
from e2e.helm import Helm, find_helm
from e2e.scenarios.caller import Caller, start_caller
from e2e.scenarios.cluster import Cluster, UnavailableClusterError, open_cluster
from e2e.scenarios.documents import DOCUMENTS
from e2e.scenarios.kube import Kube
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ragbase, ready
from e2e.scenarios.times import Times
from e2e.stand_ins import catalogue

ORDER = (
    "install",
    "healing",
    "scaling",
    "configuration",
    "localrag",
    "graph",
    "upgrade",
    "backup",
    "benchmark",
    "gpu",
    "deletion",
    "uninstall",
)
"""Files test_<name>.py; a chart must be there before it can be removed."""

TIMES = Times()
REQUIRED = "e2e" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()
HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """The official client leaves connections to the collector that the server has closed."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <ssl.SSLSocket:ResourceWarning")
    # The last look of pytest at what is left comes after its own filters are gone.
    warnings.filterwarnings("ignore", "unclosed <ssl.SSLSocket", ResourceWarning)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in `ORDER`; functions as they stand."""
    ours = [item for item in items if HERE in item.path.parents]
    ours.sort(key=lambda item: ORDER.index(item.path.stem.removeprefix("test_")))
    items[:] = [item for item in items if item not in ours] + ours


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect times: of what a test does, and of what it had to wait for before."""
    if "e2e/scenarios" not in report.nodeid:
        return
    name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    if report.when == "call" or report.outcome != "passed":
        TIMES.scenarios.append((name, report.outcome, report.duration))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The tables."""
    if TIMES.scenarios:
        terminalreporter.write_line("")
        TIMES.show(Console(width=110))


@pytest.fixture(scope="session")
def times() -> Times:
    """Where times are collected."""
    return TIMES


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The cluster; without one the scenarios are skipped, or fail where they are required."""
    try:
        with open_cluster() as found:
            TIMES.notes.append(f"Cluster: {found.name}")
            if not found.real_images:
                for each in catalogue.STAND_INS:
                    TIMES.notes.append(f"{each.reference} stands in for {each.stands_for}")
            yield found
    except UnavailableClusterError as error:
        if REQUIRED:
            pytest.fail(f"e2e is required: {error}", pytrace=False)
        pytest.skip(f"no cluster: {error}")


@pytest.fixture(scope="session")
def kube(cluster: Cluster) -> Kube:
    """The cluster's API."""
    return cluster.kube


@pytest.fixture(scope="session")
def helm(cluster: Cluster) -> Helm:
    """Helm on the cluster."""
    try:
        if cluster.context:
            os.environ["HELM_KUBECONTEXT"] = cluster.context
        return Helm(find_helm(), cluster.kubeconfig)
    except UnavailableError as error:
        if REQUIRED:
            pytest.fail(f"e2e is required: {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def namespace(kube: Kube) -> Iterator[str]:
    """A namespace of our own that enforces restricted pods."""
    name = f"ragbase-e2e-{secrets.token_hex(3)}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    kube.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    yield name
    kube.delete("Namespace", name)


@pytest.fixture(scope="session")
def release(cluster: Cluster, helm: Helm, namespace: str) -> Release:
    """The chart, not yet installed."""
    return Release(cluster, helm, namespace)


@pytest.fixture(scope="session")
def operator(release: Release, times: Times) -> Release:
    """The installed chart."""
    times.begin()
    release.install()
    times.reached("helm install returned: the operator runs")
    return release


@pytest.fixture(scope="session")
def caller(docs: str, cluster: Cluster, namespace: str, operator: Release, times: Times) -> Caller:
    """A pod that calls the shared RagBase, in which `DOCUMENTS` are."""
    found = start_caller(cluster.kube, docs, namespace, operator.api_image)
    times.reached("a pod with the client's key runs")
    found.ingest(DOCUMENTS)
    times.reached("documents ingested")
    return found


@pytest.fixture(scope="session")
def docs(cluster: Cluster, operator: Release, namespace: str, times: Times) -> str:
    """Name of the shared RagBase; it is Ready, and empty."""
    cluster.kube.apply(ragbase(cluster, "docs", namespace))
    times.reached("RagBase applied")
    ready(cluster.kube, "docs", namespace, times)
    return "docs"
