"""The chart of the operator, as it is released into the scenarios' namespace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.helm import Helm
from e2e.scenarios.cluster import Cluster
from e2e.scenarios.kube import Manifest
from images.catalogue import IMAGES, product_version

__all__ = ["Release"]

CHART: Final = Path(__file__).parents[2] / "charts" / "ragbase-operator"
NAME: Final = "ragbase"
SELECTOR: Final = f"app.kubernetes.io/instance={NAME},app.kubernetes.io/name=ragbase-operator"
TIMEOUT: Final = "--timeout=5m"


@dataclass(frozen=True, slots=True)
class Release:
    """One release."""

    cluster: Cluster
    helm: Helm
    namespace: str

    @property
    def api_image(self) -> str:
        """The image of the product's own pods."""
        return IMAGES["api"].reference(self.cluster.registry, product_version())

    @property
    def values(self) -> list[str]:
        """Only this namespace is looked after: nothing else of the cluster may change."""
        return [
            f"--namespace={self.namespace}",
            f"--set=image.repository={self.cluster.registry}/ragbase-operator",
            f"--set=settings.registry={self.cluster.registry}",
            f"--set=watch.namespaces={{{self.namespace}}}",
            "--set=settings.retrySeconds=5",
            "--set=crds.keep=false",
        ]

    def install(self) -> None:
        """`helm install`, until the operator's pod is ready. Raises `HelmError`."""
        self.helm.run("install", NAME, str(CHART), *self.values, "--wait", TIMEOUT)

    def upgrade(self, *more: str) -> None:
        """`helm upgrade` with further values."""
        self.helm.run("upgrade", NAME, str(CHART), *self.values, *more, "--wait", TIMEOUT)

    def rollback(self) -> None:
        """`helm rollback` to the revision before."""
        self.helm.run("rollback", NAME, f"--namespace={self.namespace}", "--wait", TIMEOUT)

    def uninstall(self) -> None:
        """`helm uninstall`, with its hook that removes custom resources first."""
        self.helm.run("uninstall", NAME, f"--namespace={self.namespace}", "--wait", TIMEOUT)

    @property
    def deployment(self) -> str:
        """The operator's Deployment."""
        return f"{NAME}-ragbase-operator"

    def pods(self) -> list[Manifest]:
        """The operator's pods that are not about to end."""
        found = self.cluster.kube.list("Pod", self.namespace, SELECTOR)
        return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]
