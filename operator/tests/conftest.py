"""A real control plane for the tests, one a run, and a fresh namespace a test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest

from e2e.cluster import ControlPlane, UnavailableError, find_binaries
from e2e.operator_kit import install_crds

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
"""How long an example takes says more of the machine's load than of the code."""


@pytest.fixture(scope="session")
def api_server() -> Iterator[ControlPlane]:
    """A running control plane; without one the test is skipped, or fails if one is required.

    ``RAGBASE_REQUIRE`` is a list of names; with ``operator`` among them nothing may be skipped.
    """
    try:
        binaries = find_binaries()
    except UnavailableError as error:
        if "operator" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split():
            raise
        pytest.skip(str(error))
    with ControlPlane(binaries) as running:
        yield running


@pytest.fixture(scope="session")
def server(api_server: ControlPlane) -> ControlPlane:
    """The control plane, with our CRDs."""
    install_crds(api_server)
    return api_server


@pytest.fixture
def controllers(api_server: ControlPlane) -> ControlPlane:
    """The control plane, where garbage collection and the built-in controllers run."""
    if not api_server.has_controllers:
        pytest.skip("these programs have no kube-controller-manager")
    return api_server


@pytest.fixture
def namespace(api_server: ControlPlane) -> Iterator[str]:
    """The name of a fresh namespace; deleted, without waiting, after the test."""
    name = api_server.create_namespace()
    yield name
    api_server.delete_namespace(name)
