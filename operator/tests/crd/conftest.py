"""The CRDs on a real API server, and a namespace that all tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cluster import ControlPlane

from .server import Server


@pytest.fixture(scope="session")
def served(api_server: ControlPlane) -> ControlPlane:
    """The API server once it serves all four kinds."""
    installing = Server(api_server, "default")
    installing.install()
    installing.close()
    return api_server


@pytest.fixture(scope="module")
def server(served: ControlPlane) -> Iterator[Server]:
    """A fresh namespace of that API server."""
    namespace = served.create_namespace()
    opened = Server(served, namespace)
    yield opened
    opened.close()
    served.delete_namespace(namespace)
