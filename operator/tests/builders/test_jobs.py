"""Jobs of the API's image: when a migration runs again, what a backup is told."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from typer.main import get_command

from ragbase.cli.app import app
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.jobs import job_spec, migration_name
from ragbase_operator.models.pods import PodOverrides, Resources

from .conftest import Make
from .found import Found

EXTERNAL = {"database": {"mode": "external", "external": {"secretRef": {"name": "pg"}}}}


@pytest.mark.parametrize(
    ("spec", "again"),
    [
        ({"api": {"image": {"tag": "2"}}}, True),
        ({"database": {"lexical": "native"}}, True),
        ({"api": {"settings": {"HNSW_M": "32"}}}, True),
        ({"api": {"settings": {"RAGBASE_MAX_INFLIGHT": "128"}}}, False),
        ({"api": {"replicas": 5}}, False),
        ({"rerankers": [{"name": "default"}]}, False),
    ],
)
def test_a_migration_runs_again_where_it_would_do_something_else(
    make: Make, inputs: Inputs, spec: dict[str, Any], again: bool
) -> None:
    """Its name is a hash of what shapes the schema."""
    before, after = migration_name(make(), inputs), migration_name(make(spec), inputs)
    assert (before != after) is again


def test_another_database_is_migrated_too(make: Make, inputs: Inputs) -> None:
    one, other = (
        migration_name(make(EXTERNAL), dataclasses.replace(inputs, referenced={"pg": digest}))
        for digest in ("one", "other")
    )
    assert one != other


def test_a_ragbase_made_anew_has_the_same_migration(make: Make, inputs: Inputs) -> None:
    assert migration_name(make(), inputs) == migration_name(make(uid="another"), inputs)


def test_a_rotated_password_does_not_migrate(make: Make, inputs: Inputs) -> None:
    """A Job cannot be changed: no hash of a Secret may be in its template."""
    rotated = dataclasses.replace(inputs, secrets={"docs-database": {"password": "new"}})
    jobs = [
        [child for child in build(make(), each) if child["kind"] == "Job"]
        for each in (inputs, rotated)
    ]
    assert jobs[0] == jobs[1]


def test_the_commands_exist(children: list[dict[str, Any]], found: Found) -> None:
    """What pods of the API's image run are commands of its program, with options that it has."""
    program = get_command(app)
    for child in children:
        if child["kind"] in {"Deployment", "Job", "CronJob"}:
            container = found.container(child)
            if "ragbase-api" in container["image"]:
                name, *arguments = container["args"]
                command = program.commands[name]  # type: ignore[attr-defined]
                command.make_context(name, list(arguments))


def test_backups_are_kept_as_the_spec_says(make: Make, inputs: Inputs, found: Found) -> None:
    """Into the claim, one at a time, with no key but the database's."""
    backup = {"schedule": "0 2 * * *", "retention": 14, "claimName": "backups"}
    children = build(make({"backup": backup}), inputs)
    made = found.one(children, "CronJob", "docs-backup")
    container = found.container(made)
    assert container["args"] == ["backup", "/backup", "--keep", "14"]
    assert {entry["name"] for entry in container["env"]} == {"DATABASE_URL"}
    assert made["spec"]["concurrencyPolicy"] == "Forbid"
    pod = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert {"claimName": "backups"} in [v.get("persistentVolumeClaim") for v in pod["volumes"]]
    assert "/backup" in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_other_jobs_of_the_image(make: Make, inputs: Inputs) -> None:
    """Their own claim, keys, resources, placement and deadline; else what the API has."""
    resources = Resources(limits={"memory": "3Gi"})
    spec = job_spec(
        make({"api": {"pod": {"nodeSelector": {"disk": "ssd"}}}}),
        inputs,
        "restore",
        ["restore", "/backup"],
        claims={"/backup": "old"},
        resources=resources,
        overrides=PodOverrides(node_selector={"zone": "a"}),
        deadline_seconds=60,
    )
    pod = spec["template"]["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 60)
    assert pod["nodeSelector"] == {"zone": "a"}
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["resources"] == {"limits": {"memory": "3Gi"}}
    names = {entry["name"] for entry in pod["containers"][0]["env"]}
    assert {"DATABASE_URL", "RAGBASE_CLIENT_KEY"} <= names


def test_no_backup_without_a_schedule(make: Make, inputs: Inputs, found: Found) -> None:
    assert not found.names(build(make(), inputs), "CronJob")
