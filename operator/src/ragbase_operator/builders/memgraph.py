"""Memgraph, which holds a projection of the graph."""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders import names
from ragbase_operator.builders.claims import claim_volume, data_claim
from ragbase_operator.builders.components import BOLT_PORT, MEMGRAPH
from ragbase_operator.builders.environment import from_secret
from ragbase_operator.builders.images import image_fields
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.pods import (
    Container,
    Pod,
    User,
    config_hash,
    empty_dir,
    resource_fields,
)
from ragbase_operator.builders.probes import probes, tcp_probe
from ragbase_operator.builders.quantities import memory_mib
from ragbase_operator.builders.references import pod_uses
from ragbase_operator.builders.secrets import MEMGRAPH_INIT, generated
from ragbase_operator.builders.workloads import service, single
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["memgraph", "memory_limit_mib"]

MEMGRAPH_USER: Final = User(101, 103, 103)
STARTUP_SECONDS: Final = 1800
"""It reads all of its data before it answers."""
_DATA: Final = "/var/lib/memgraph/data"
"""Below the mount: Memgraph ends at once where its data folder belongs to another user, and the
root of a volume belongs to root. It makes this one itself, so no init container as root is needed."""
_INIT: Final = "/etc/ragbase"


def memgraph(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Claim, StatefulSet and Service, where the graph has a projection."""
    if not ragbase.spec.graph.projected:
        return []
    return [
        data_claim(ragbase, MEMGRAPH, ragbase.spec.graph.memgraph.storage),
        single(ragbase, _pod(ragbase, inputs)),
        service(ragbase, MEMGRAPH, {"bolt": (BOLT_PORT, "bolt")}),
    ]


def memory_limit_mib(container_mib: int) -> int:
    """Memgraph's own limit: below the container's, so that a query fails and not the pod."""
    return max(container_mib * 85 // 100, 1)


def _pod(ragbase: RagBase, inputs: Inputs) -> Pod:
    spec = ragbase.spec.graph.memgraph
    secret = names.memgraph_secret(ragbase.name)
    referenced = {use.name: inputs.referenced.get(use.name, "") for use in pod_uses(spec.pod)}
    return Pod(
        component=MEMGRAPH,
        container=_container(ragbase, inputs, secret),
        volumes=[
            claim_volume("data", names.claim(ragbase.name, MEMGRAPH)),
            empty_dir("logs"),
            empty_dir("tmp"),
            {
                "name": "init",
                "secret": {
                    "secretName": secret,
                    "items": [{"key": MEMGRAPH_INIT, "path": MEMGRAPH_INIT}],
                    "defaultMode": 0o440,
                },
            },
        ],
        user=MEMGRAPH_USER,
        overrides=spec.pod,
        config=config_hash(generated(ragbase, inputs)[secret], referenced),
        grace_seconds=120,
    )


def _container(ragbase: RagBase, inputs: Inputs, secret: str) -> Container:
    spec = ragbase.spec.graph.memgraph
    answers = tcp_probe("bolt")
    return Container(
        image=image_fields(spec.image, inputs.images.memgraph),
        args=[
            f"--bolt-port={BOLT_PORT}",
            f"--data-directory={_DATA}",
            "--data-recovery-on-startup=true",
            f"--memory-limit={memory_limit_mib(memory_mib(spec.resources))}",
            "--storage-wal-enabled=true",
            "--storage-wal-file-flush-every-n-tx=1",
            "--storage-snapshot-interval-sec=300",
            "--storage-snapshot-on-exit=true",
            f"--init-file={_INIT}/{MEMGRAPH_INIT}",
            "--log-file=",
            "--also-log-to-stderr=true",
            "--telemetry-enabled=false",
        ],
        resources=resource_fields(spec.resources),
        ports={"bolt": BOLT_PORT},
        env=[
            from_secret("MEMGRAPH_USER", secret, "username"),
            from_secret("MEMGRAPH_PASSWORD", secret, "password"),
        ],
        mounts={
            "/var/lib/memgraph": "data",
            "/var/log/memgraph": "logs",
            "/tmp": "tmp",  # noqa: S108 - a path in the container
            _INIT: "init",
        },
        probes=probes(answers, answers, startup_seconds=STARTUP_SECONDS),
    )
