"""Plays the kubelet for pods of the chart: their command runs here, with their account's rights."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from e2e.cluster import ControlPlane

from .accounts import kubeconfig_of

__all__ = ["environment", "run_pod"]

MERGE = "application/merge-patch+json"


def environment(container: dict[str, Any], namespace: str) -> dict[str, str]:
    """The variables of a container; the only one from elsewhere is the pod's namespace."""
    return {
        each["name"]: namespace if "valueFrom" in each else each.get("value", "")
        for each in container.get("env", ())
    }


async def run_pod(
    server: ControlPlane, pod: dict[str, Any], folder: Path, *more: str, told: dict[str, str]
) -> str:
    """Run the pod's only container as ``python -m ragbase_operator ARGS`` and tell the API server
    how it ended; what it printed. ``told`` replaces arguments that only a cluster could resolve.
    """
    metadata, (container,) = pod["metadata"], pod["spec"]["containers"]
    namespace = metadata["namespace"]
    account = pod["spec"].get("serviceAccountName", "default")
    config = kubeconfig_of(server, namespace, account, folder)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ragbase_operator",
        *(told.get(each, each) for each in container["args"]),
        *more,
        env={
            **os.environ,
            **environment(container, namespace),
            "KUBECONFIG": str(config),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    status = {"status": {"phase": "Failed" if process.returncode else "Succeeded"}}
    path = f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}/status"
    answer = server.request("PATCH", path, status, content_type=MERGE)
    assert answer.status == 200, answer.body
    return out.decode()
