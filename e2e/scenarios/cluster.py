"""Which cluster the scenarios run on, and the images that they use there.

`RAGBASE_E2E_CONTEXT` names a context of the user's kubeconfig; without it, nothing but the node of
`e2e.node` is touched. `RAGBASE_E2E_IMAGES` is ``stand-in`` (default) or ``real``; with `RAGBASE_E2E_BUILD=off` the images
that are there are taken as they are.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.cluster.binaries import UnavailableError
from e2e.node import host, images, packages
from e2e.node.addresses import HOME, NODE_NAME
from e2e.node.programs import node_programs
from e2e.scenarios.kube import Kube
from e2e.stand_ins import catalogue

__all__ = ["Cluster", "UnavailableClusterError", "open_cluster"]


class UnavailableClusterError(Exception):
    """The scenarios cannot run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is there."""

    name: str
    kube: Kube
    kubeconfig: Path
    context: str | None
    """None: the one that the kubeconfig says."""
    node: str | None
    """The node's name where the node is ours: its status may be patched."""
    real_images: bool

    @property
    def registry(self) -> str:
        """Where the product's own images come from."""
        given = os.environ.get("RAGBASE_E2E_REGISTRY")
        return given or ("ghcr.io/ragbase" if self.real_images else "localhost")

    def spec_of_images(self) -> dict[str, Any]:
        """The part of a RagBase's spec that names stand-ins; {} for the real images."""
        return {} if self.real_images else catalogue.spec()


@contextmanager
def open_cluster() -> Iterator[Cluster]:
    """The cluster that the environment asks for; a node that we started is stopped again.

    Raises:
        UnavailableClusterError: it cannot be had.
    """
    real = os.environ.get("RAGBASE_E2E_IMAGES", "stand-in") == "real"
    context = os.environ.get("RAGBASE_E2E_CONTEXT")
    if context:
        kubeconfig = Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
        with closing(Kube(kubeconfig, context)) as kube:
            yield Cluster(f"context {context}", kube, kubeconfig, context, None, real)
        return
    if real:
        raise UnavailableClusterError(
            "RAGBASE_E2E_IMAGES=real needs RAGBASE_E2E_CONTEXT: the node has no way to a registry"
        )
    started = start_node()
    try:
        for reference in catalogue.references():
            if images.load(reference, host.enter(), HOME):
                print(f"loaded {reference}", flush=True)
        kubeconfig = host.kubeconfig()
        with closing(Kube(kubeconfig)) as kube:
            yield Cluster("own node", kube, kubeconfig, None, NODE_NAME, real)
    finally:
        if started:
            host.stop()
            started.wait()


def start_node() -> subprocess.Popen[bytes] | None:
    """Have images and a node; its holder, if it is we who started it."""
    try:
        packages.have(packages.NODE | packages.IMAGES)
        if os.environ.get("RAGBASE_E2E_BUILD", "on") != "off":
            catalogue.build()
        node_programs()
        return host.start()
    except (UnavailableError, RuntimeError) as error:
        raise UnavailableClusterError(str(error)) from error
