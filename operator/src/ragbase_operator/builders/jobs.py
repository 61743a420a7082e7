"""Jobs of the API's image: migrations, backups and what else is run once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragbase_operator.builders.api import api_container
from ragbase_operator.builders.claims import claim_volume
from ragbase_operator.builders.components import BACKUP, MIGRATE
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.names import WORKLOAD_LIMIT, child, digest
from ragbase_operator.builders.objects import canonical, child_object
from ragbase_operator.builders.pods import Pod, empty_dir, pod_template
from ragbase_operator.builders.settings import database_env, settings_of
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import PodOverrides, Resources

__all__ = ["backup_schedule", "job_spec", "migration", "migration_name"]

MIGRATION_ATTEMPTS = 60
"""Restarts of the container, at most five minutes apart: the database may be long in coming."""
_RESOURCES = Resources(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"})


def job_spec(
    ragbase: RagBase,
    inputs: Inputs,
    component: str,
    args: Sequence[str],
    *,
    claims: Mapping[str, str] | None = None,
    env: Sequence[Mapping[str, Any]] | None = None,
    attempts: int = 0,
    restart: str = "Never",
    resources: Resources = _RESOURCES,
    overrides: PodOverrides | None = None,
    deadline_seconds: int | None = None,
) -> dict[str, Any]:
    """`spec` of a Job that runs ``args`` of the API's image, with all settings of the API.

    ``claims``: path in the container → name of the claim that is mounted there. ``env`` takes the
    place of the variables that come from Secrets (default: all that the API has). ``overrides``:
    of the pod (default: the placement and environment of the API's).
    """
    volumes = {path: f"claim-{number}" for number, path in enumerate(claims or {})}
    container = api_container(
        ragbase, inputs, args=list(args), resources=resources, mounts=volumes, env=env
    )
    pod = Pod(
        component=component,
        container=container,
        volumes=[
            empty_dir("tmp"),
            *(claim_volume(volumes[path], name) for path, name in (claims or {}).items()),
        ],
        overrides=_placement(ragbase) if overrides is None else overrides,
        restart=restart,
    )
    spec: dict[str, Any] = {"backoffLimit": attempts, "template": pod_template(ragbase, pod)}
    if deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = deadline_seconds
    return spec


def migration(ragbase: RagBase, inputs: Inputs) -> Manifest:
    """The Job that brings the schema up to date.

    A Job cannot be changed, so its name has a hash of what it does: it runs again where its image,
    its database or a setting that shapes the schema is another one.
    """
    spec = _migration_spec(ragbase, inputs)
    name = migration_name(ragbase, inputs)
    return child_object(ragbase, ("batch/v1", "Job"), name, MIGRATE, {"spec": spec})


def migration_name(ragbase: RagBase, inputs: Inputs) -> str:
    """`<name>-migrate-<hash>`."""
    external = ragbase.spec.database.external
    database = "" if external is None else inputs.referenced.get(external.secret_ref.name, "")
    shaping = {
        name: value
        for name, value in settings_of(ragbase).items()
        if name == "RAGBASE_LEXICAL" or name.startswith("HNSW_")
    }
    # The owner is in the labels, and must not make the name of a RagBase made anew another one.
    spec = _migration_spec(ragbase, inputs)
    done = digest(canonical([spec["template"]["spec"], shaping, database]), 10)
    return child(ragbase.name, f"migrate-{done}")


def backup_schedule(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """The CronJob of the backups, where there is a schedule and a claim for them."""
    wished = ragbase.spec.backup
    if wished.schedule is None or wished.claim_name is None:
        return []
    args = ["backup", "/backup", "--keep", str(wished.retention)]
    job = job_spec(
        ragbase,
        inputs,
        BACKUP,
        args,
        claims={"/backup": wished.claim_name},
        env=database_env(ragbase),
        attempts=2,
    )
    spec = {
        "schedule": wished.schedule,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 3600,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "jobTemplate": {
            "metadata": {"labels": job["template"]["metadata"]["labels"]},
            "spec": job,
        },
    }
    name = child(ragbase.name, BACKUP, WORKLOAD_LIMIT)
    return [child_object(ragbase, ("batch/v1", "CronJob"), name, BACKUP, {"spec": spec})]


def _placement(ragbase: RagBase) -> PodOverrides:
    """Jobs run where the API may run, and see what it sees."""
    return ragbase.spec.api.pod.model_copy(update={"topology_spread_constraints": []})


def _migration_spec(ragbase: RagBase, inputs: Inputs) -> dict[str, Any]:
    return job_spec(
        ragbase,
        inputs,
        MIGRATE,
        ["migrate"],
        env=database_env(ragbase),
        attempts=MIGRATION_ATTEMPTS,
        restart="OnFailure",
    )
