"""ParadeDB: where its data lies, how it is tuned, how it takes a new password and a larger volume."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from ragbase.embedded import EmbeddedPostgres
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.paradedb import SYNC_ROLE
from ragbase_operator.builders.postgres_tuning import postgres_parameters
from ragbase_operator.models.database import Database

from .conftest import Make
from .found import Found


def _database(
    memory: str = "2Gi", cpu: str = "1", size: str = "10Gi", **parameters: str
) -> Database:
    resources = {"limits": {"memory": memory, "cpu": cpu}}
    return Database.model_validate(
        {"resources": resources, "storage": {"size": size}, "parameters": parameters}
    )


@pytest.mark.parametrize(
    ("image", "mount", "data"),
    [
        ({}, "/var/lib/postgresql", "/var/lib/postgresql/18/docker"),
        ({"tag": "0.25.4-pg19"}, "/var/lib/postgresql", "/var/lib/postgresql/19/docker"),
        ({"tag": "latest-pg17"}, "/var/lib/postgresql/data", "/var/lib/postgresql/data/pgdata"),
        ({"tag": "pg16-0.24.3"}, "/var/lib/postgresql/data", "/var/lib/postgresql/data/pgdata"),
        ({"digest": "sha256:" + "0" * 64}, "/var/lib/postgresql", "/var/lib/postgresql/18/docker"),
    ],
)
def test_the_volume_is_where_the_image_has_its_data(
    make: Make, inputs: Inputs, found: Found, image: dict[str, str], mount: str, data: str
) -> None:
    """A volume beside the data would lose it with the pod."""
    children = build(make({"database": {"image": image}}), inputs)
    postgres = found.one(children, "StatefulSet", "docs-postgres")
    mounts = {m["name"]: m["mountPath"] for m in found.container(postgres)["volumeMounts"]}
    assert mounts["data"] == mount
    assert found.env(postgres)["PGDATA"] == data


def test_a_larger_volume_changes_its_claim_only(make: Make, inputs: Inputs, found: Found) -> None:
    """B115: growth goes through the claim; a StatefulSet would refuse another claim template."""
    small, large = (
        build(make({"database": {"storage": {"size": size}}}), inputs) for size in ("10Gi", "99Gi")
    )
    changed = [one["kind"] for one, other in zip(small, large, strict=True) if one != other]
    assert changed == ["PersistentVolumeClaim"]
    claim = found.one(large, "PersistentVolumeClaim", "data-docs-postgres-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "99Gi"
    for child in large:
        assert "volumeClaimTemplates" not in child.get("spec", {})


def test_tuned_from_memory_and_processors() -> None:
    """A quarter shared, three quarters cached, indexes built in an eighth; 2 GiB and 64 GiB."""
    small, large = postgres_parameters(_database()), postgres_parameters(_database("64Gi", "3500m"))
    assert (small["shared_buffers"], large["shared_buffers"]) == ("512MB", "16384MB")
    assert (small["effective_cache_size"], large["effective_cache_size"]) == ("1536MB", "49152MB")
    assert (small["maintenance_work_mem"], large["maintenance_work_mem"]) == ("256MB", "2048MB")
    assert (small["work_mem"], large["work_mem"]) == ("32MB", "64MB")
    assert (small["max_worker_processes"], large["max_worker_processes"]) == ("9", "12")


def test_the_log_leaves_room_on_the_volume() -> None:
    assert postgres_parameters(_database(size="1Gi"))["max_wal_size"] == "128MB"
    assert postgres_parameters(_database(size="1Ti"))["max_wal_size"] == "2048MB"


def test_own_parameters_win() -> None:
    assert postgres_parameters(_database(jit="on"))["jit"] == "on"


def test_shared_memory_holds_a_parallel_build(make: Make, inputs: Inputs, found: Found) -> None:
    """Containers have 64 MB, and building an index in parallel takes `maintenance_work_mem`."""
    postgres = found.one(build(make(), inputs), "StatefulSet", "docs-postgres")
    volumes = {v["name"]: v for v in postgres["spec"]["template"]["spec"]["volumes"]}
    assert volumes["shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "320Mi"}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    """A real Postgres 18 with the settings that ours would get."""
    tuned = postgres_parameters(_database("256Mi"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # where root runs the tests, another user runs Postgres
        with EmbeddedPostgres(folder / "data", settings=tuned) as running:
            yield running


async def test_postgres_takes_the_parameters(server: EmbeddedPostgres) -> None:
    """All names and units are known to a real server, and in force."""
    connection = await asyncpg.connect(server.dsn)
    try:
        for name, value in postgres_parameters(_database("256Mi")).items():
            shown = await connection.fetchval("SELECT current_setting($1)", name)
            assert shown == value or _megabytes(shown) == _megabytes(value) is not None, name
    finally:
        await connection.close()


async def test_a_rotated_password_reaches_the_role(server: EmbeddedPostgres) -> None:
    """B111: what runs in each new container gives the role the Secret's password, as it is."""
    password = "it's \\ a \"new\" $(one) :'x'"
    before = await _stored(server)
    _run_hook(server, password)
    after = await _stored(server)
    assert after != before
    assert _is_of(after, password)
    assert not _is_of(after, "another")


async def _stored(server: EmbeddedPostgres) -> str:
    connection = await asyncpg.connect(server.dsn)
    try:
        return str(
            await connection.fetchval(
                "SELECT coalesce(rolpassword, '') FROM pg_authid WHERE rolname = current_user"
            )
        )
    finally:
        await connection.close()


def _run_hook(server: EmbeddedPostgres, password: str) -> None:
    address = parse_qs(urlsplit(server.dsn).query)
    environment = {
        "PATH": f"{server.program('psql').parent}:{os.environ['PATH']}",
        "PGHOST": address["host"][0],
        "PGPORT": address["port"][0],
        "POSTGRES_USER": "ragbase",
        "POSTGRES_DB": "ragbase",
        "POSTGRES_PASSWORD": password,
    }
    subprocess.run(["bash", "-c", SYNC_ROLE], env=environment, check=True, timeout=30)


def _is_of(stored: str, password: str) -> bool:
    """Whether a SCRAM verifier (RFC 5803, as Postgres stores it) is this password's."""
    _, parameters, keys = stored.split("$")
    rounds, salt = parameters.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(rounds))
    client = hmac.digest(salted, b"Client Key", "sha256")
    return keys.split(":")[0] == base64.b64encode(hashlib.sha256(client).digest()).decode()


def _megabytes(value: str) -> int | None:
    for unit, factor in (("MB", 1), ("GB", 1024)):
        if value.endswith(unit):
            return int(value.removesuffix(unit)) * factor
    return None
