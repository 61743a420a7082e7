"""Where the API server is, and how to authenticate: in a pod, or by a kubeconfig."""

from __future__ import annotations

import os
from pathlib import Path

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import load_incluster_config, load_kube_config
from kubernetes_asyncio.config.config_exception import ConfigException

from ragbase_operator.cluster.port import ClusterError

__all__ = ["load_configuration"]


async def load_configuration(kubeconfig: Path | None = None) -> Configuration:
    """The configuration of a file if one is given, else of the pod, else of ``KUBECONFIG`` or
    ``~/.kube/config``. Service accounts' tokens are read again while they rotate.

    Raises:
        ClusterError: there is none, or it cannot be read.
    """
    configuration = Configuration()
    try:
        if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            await load_kube_config(
                config_file=str(kubeconfig) if kubeconfig else None,
                client_configuration=configuration,
                persist_config=False,
            )
    except (ConfigException, OSError) as error:
        raise ClusterError(f"no way to the cluster: {error}") from error
    return configuration
