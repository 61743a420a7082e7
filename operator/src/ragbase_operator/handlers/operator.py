"""The operator put together: the only place that wires."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import kopf

from ragbase_operator import __version__
from ragbase_operator.cluster.client import KubernetesCluster
from ragbase_operator.cluster.port import Cluster
from ragbase_operator.handlers.children import register_children, register_heartbeat
from ragbase_operator.handlers.configure import configure
from ragbase_operator.handlers.health import serving
from ragbase_operator.handlers.heartbeat import Heartbeat
from ragbase_operator.handlers.metrics import Metrics
from ragbase_operator.handlers.ragbases import register_ragbases
from ragbase_operator.handlers.runtime import Runtime
from ragbase_operator.handlers.tasks import register_tasks
from ragbase_operator.logs import get_logger
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.probe import HttpProbe, Probe
from ragbase_operator.settings import OperatorSettings

__all__ = ["run_operator"]


async def run_operator(
    settings: OperatorSettings,
    *,
    probe: Probe | None = None,
    stop: asyncio.Event | None = None,
    ready: asyncio.Event | None = None,
) -> None:
    """Run until SIGTERM, SIGINT or ``stop``; ``ready`` is set once watching has begun."""
    async with await KubernetesCluster.connect() as cluster:
        runtime = _runtime(settings, cluster, probe or HttpProbe())
        async with (
            serving(
                settings.host,
                settings.health_port,
                settings.metrics_port,
                runtime.heartbeat,
                runtime.metrics,
            ) as ports,
            _beating(runtime.heartbeat),
        ):
            get_logger("ragbase_operator").info(
                "operator_started",
                version=__version__,
                namespaces=list(settings.namespaces) or "all",
                health_port=ports[0],
                metrics_port=ports[1],
            )
            await kopf.operator(
                registry=_registry(runtime, settings),
                settings=_kopf_settings(settings),
                clusterwide=not settings.namespaces,
                namespaces=list(settings.namespaces),
                stop_flag=stop,
                ready_flag=ready,
            )


def _runtime(settings: OperatorSettings, cluster: Cluster, probe: Probe) -> Runtime:
    metrics = Metrics()
    context = Context(
        cluster=cluster,
        images=settings.default_images,
        version=__version__,
        probe=probe,
        meter=metrics,
        clock=lambda: datetime.now(UTC),
        draw=lambda: secrets.token_hex(32),
        resync_s=settings.resync_seconds,
        retry_s=settings.retry_seconds,
    )
    identity = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    heartbeat = Heartbeat(
        cluster, settings.lease_namespace, identity, settings.heartbeat_seconds, time.monotonic
    )
    return Runtime(context=context, metrics=metrics, heartbeat=heartbeat)


def _registry(runtime: Runtime, settings: OperatorSettings) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry, id="login")(_login)
    register_ragbases(registry, runtime)
    register_tasks(registry, runtime)
    register_children(registry, runtime)
    register_heartbeat(registry, runtime, settings.lease_namespace)
    return registry


def _kopf_settings(settings: OperatorSettings) -> kopf.OperatorSettings:
    found = kopf.OperatorSettings()
    configure(
        found,
        namespaced=bool(settings.namespaces),
        silence_s=settings.watch_silence_seconds,
    )
    return found


async def _login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    """As `cluster.config`: the pod's service account, else a kubeconfig."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return kopf.login_with_service_account(**kwargs)
    return kopf.login_with_kubeconfig(**kwargs)


@asynccontextmanager
async def _beating(heartbeat: Heartbeat) -> AsyncIterator[None]:
    task = asyncio.create_task(heartbeat.run(), name="heartbeat")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
