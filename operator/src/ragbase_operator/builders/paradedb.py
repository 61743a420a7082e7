"""ParadeDB, run here: one Postgres with pg_search and pgvector on one volume."""

from __future__ import annotations

from typing import Any, Final

from ragbase_operator.builders import names
from ragbase_operator.builders.claims import claim_volume, data_claim
from ragbase_operator.builders.components import DATABASE, POSTGRES_PORT
from ragbase_operator.builders.environment import from_secret, plain
from ragbase_operator.builders.images import image_fields, postgres_major
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.pods import (
    Container,
    Pod,
    User,
    config_hash,
    empty_dir,
    resource_fields,
)
from ragbase_operator.builders.postgres_tuning import maintenance_mib, postgres_parameters
from ragbase_operator.builders.probes import exec_probe, probes
from ragbase_operator.builders.references import pod_uses
from ragbase_operator.builders.secrets import DATABASE_NAME, generated
from ragbase_operator.builders.workloads import service, single
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["SYNC_ROLE", "paradedb", "volume_paths"]

POSTGRES_USER: Final = User(999, 999, 999)
"""`postgres` in Debian's images."""

PRELOAD: Final = "pg_search,pg_cron,pg_stat_statements"
"""As the image itself has it: its first start creates these extensions and fails without them."""

STARTUP_SECONDS: Final = 1800
"""Recovery after a crash reads the write-ahead log again."""

SYNC_ROLE: Final = """\
until printf '%s\\n' '\\getenv role POSTGRES_USER' '\\getenv password POSTGRES_PASSWORD' \\
  "ALTER ROLE :\\"role\\" PASSWORD :'password';" \\
  | psql -qX -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" >/dev/null 2>&1
do sleep 1; done"""
"""Run in each new container: the image takes the password only when it makes the data, so a
rotated one would never reach the role. Over the local socket, and in no argument of a process."""


def paradedb(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Claim, StatefulSet and Service."""
    return [
        data_claim(ragbase, DATABASE, ragbase.spec.database.storage),
        single(ragbase, _pod(ragbase, inputs)),
        service(ragbase, DATABASE, {"postgres": (POSTGRES_PORT, "postgres")}),
    ]


def volume_paths(major: int) -> tuple[str, str]:
    """Where the volume is mounted, and the data folder in it.

    From 18 on the image keeps its data in a folder named by the version. Before, a folder of our
    own below the mount: a new volume may hold `lost+found`, and initdb wants an empty one.
    """
    if major >= 18:
        return "/var/lib/postgresql", f"/var/lib/postgresql/{major}/docker"
    return "/var/lib/postgresql/data", "/var/lib/postgresql/data/pgdata"


def _pod(ragbase: RagBase, inputs: Inputs) -> Pod:
    database = ragbase.spec.database
    secret = names.database_secret(ragbase.name)
    referenced = {u.name: inputs.referenced.get(u.name, "") for u in pod_uses(database.pod)}
    login = {
        key: value
        for key, value in generated(ragbase, inputs)[secret].items()
        if key in {"username", "password"}
    }
    return Pod(
        component=DATABASE,
        container=_container(ragbase, inputs, secret),
        volumes=[
            claim_volume("data", names.claim(ragbase.name, DATABASE)),
            empty_dir("run"),
            empty_dir("tmp"),
            empty_dir("shm", medium="Memory", sizeLimit=f"{maintenance_mib(database) + 64}Mi"),
        ],
        user=POSTGRES_USER,
        overrides=database.pod,
        config=config_hash(login, referenced),
        grace_seconds=120,
    )


def _container(ragbase: RagBase, inputs: Inputs, secret: str) -> Container:
    database = ragbase.spec.database
    mount, data = volume_paths(postgres_major(database.image, inputs.images.paradedb))
    parameters = {"shared_preload_libraries": PRELOAD, **postgres_parameters(database)}
    return Container(
        image=image_fields(database.image, inputs.images.paradedb),
        args=["postgres", *_flags(parameters)],
        resources=resource_fields(database.resources),
        ports={"postgres": POSTGRES_PORT},
        env=[
            from_secret("POSTGRES_USER", secret, "username"),
            from_secret("POSTGRES_PASSWORD", secret, "password"),
            *plain({"POSTGRES_DB": DATABASE_NAME, "PGDATA": data, "PDB_TUNE": "false"}),
        ],
        mounts={
            mount: "data",
            "/var/run/postgresql": "run",
            "/tmp": "tmp",  # noqa: S108 - a path in the container
            "/dev/shm": "shm",  # noqa: S108 - likewise; 64 MB by default, too little for builds
        },
        probes=_probes(),
        lifecycle={"postStart": exec_probe("bash", "-c", SYNC_ROLE)},
    )


def _flags(parameters: dict[str, str]) -> list[str]:
    return [part for name in sorted(parameters) for part in ("-c", f"{name}={parameters[name]}")]


def _probes() -> dict[str, Any]:
    """Over TCP: while the first start still makes the data, the server listens on the socket only.

    Alive is also a server that recovers from a crash and takes no connections yet: exit code 1.
    """
    listens = ("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(POSTGRES_PORT))
    alive = exec_probe("bash", "-c", f"{' '.join(listens)}; [ $? -le 1 ]")
    answers = exec_probe(
        "bash", "-c", 'psql -qXtA -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "SELECT 1" >/dev/null'
    )
    return probes(alive, answers, started=exec_probe(*listens), startup_seconds=STARTUP_SECONDS)
