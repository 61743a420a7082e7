"""Helm, a real control plane, and a namespace that enforces restricted pods."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import ControlPlane, UnavailableError, find_binaries
from e2e.helm import Helm, find_helm

CHARTS = Path(__file__).parents[1]
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def unavailable(error: UnavailableError) -> None:
    """Skip, or fail where ``charts`` is among the names in ``RAGBASE_REQUIRE``."""
    if "charts" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split():
        raise error
    pytest.skip(str(error))


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Helm without a cluster: lint and template."""
    try:
        return Helm(find_helm())
    except UnavailableError as error:
        unavailable(error)
        raise


@pytest.fixture(scope="session")
def server() -> Iterator[ControlPlane]:
    """A control plane on which nothing is installed yet."""
    try:
        binaries = find_binaries()
    except UnavailableError as error:
        unavailable(error)
        raise
    with ControlPlane(binaries) as running:
        if not running.has_controllers:
            unavailable(UnavailableError("these programs have no kube-controller-manager"))
        yield running


@pytest.fixture
def namespace(server: ControlPlane) -> Iterator[str]:
    """A fresh namespace; deleted, without waiting, after the test."""
    name = server.create_namespace(RESTRICTED)
    yield name
    server.delete_namespace(name)


@pytest.fixture
def client(helm: Helm, server: ControlPlane) -> Helm:
    """Helm as the administrator of that control plane."""
    return Helm(helm.program, server.kubeconfig("admin"))
