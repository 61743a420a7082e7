"""A release of the operator's chart whose operator lives: here, as the account of its pod."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.cluster import ControlPlane
from e2e.helm import Helm
from e2e.operator_kit.harness import Harness

from .accounts import kubeconfig_of
from .kubelet import environment
from .objects import CHARTS

__all__ = ["Operator"]

PODS = "/api/v1/namespaces/{}/pods"
PATIENCE_S = 120.0
"""On a machine where builds run beside the tests."""


class Operator:
    """Helm, the operator that it installs, and what a kubelet would do.

    The release is in ``namespace``, the stacks are in ``stacks``, or in the same.
    """

    def __init__(
        self,
        client: Helm,
        server: ControlPlane,
        namespace: str,
        folder: Path,
        stacks: str | None = None,
    ) -> None:
        self.client = client
        self.server = server
        self.namespace = namespace
        self.folder = folder
        self.harness = Harness(server, stacks or namespace, folder / "operator.log")

    async def helm(self, *arguments: str) -> str:
        """A Helm command on the operator's release; the loop goes on meanwhile.

        Raises `HelmError`.
        """
        return await asyncio.to_thread(self.client.run, *arguments, "--namespace", self.namespace)

    async def stack(self, *arguments: str) -> str:
        """A Helm command where the stacks are. Raises `HelmError`."""
        where = ("--namespace", self.harness.namespace)
        return await asyncio.to_thread(self.client.run, *arguments, *where)

    async def install(self, *settings: str) -> str:
        """Install the operator; CRDs that an earlier release has left are taken over."""
        chart = str(CHARTS / "ragbase-operator")
        return await self.helm("install", "operator", chart, "--take-ownership", *settings)

    def deployment(self) -> dict[str, Any]:
        """As the API server has it."""
        name = "operator-ragbase-operator"
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}"
        body: dict[str, Any] = self.server.request("GET", path).body
        return body

    async def ready(self, name: str = "docs") -> None:
        """Wait until a RagBase is Ready; its pods are played."""
        await self.harness.until_ready(name, PATIENCE_S)

    async def until(self, what: Callable[[], Any], kubelet: bool = False) -> None:
        """Wait for something true."""
        await self.harness.until(what, PATIENCE_S, kubelet)

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """The operator runs with the environment and the rights that the chart gives it."""
        spec = self.deployment()["spec"]["template"]["spec"]
        account = spec["serviceAccountName"]
        config = kubeconfig_of(self.server, self.namespace, account, self.folder)
        given = environment(spec["containers"][0], self.namespace)
        await self.harness.start(**given, KUBECONFIG=str(config))
        try:
            yield
        finally:
            await self.harness.close()

    async def pod(self, prefix: str, seconds: float = PATIENCE_S) -> dict[str, Any]:
        """The pod whose name begins so, once it is there and not done."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            listed = self.server.request("GET", PODS.format(self.namespace)).body["items"]
            found[:] = [
                each
                for each in listed
                if each["metadata"]["name"].startswith(prefix)
                and each.get("status", {}).get("phase") == "Pending"
            ]
            return bool(found)

        await self.harness.until(there, seconds)
        return found[0]
