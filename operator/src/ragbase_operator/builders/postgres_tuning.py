"""Settings of Postgres from the memory, the CPUs and the volume that it has.

Rules of thumb of docs/operations/tuning.md: what searches read stays in memory, indexes are built
there, and the write-ahead log does not fill the volume.
"""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders.quantities import cpus_of, memory_mib, mib
from ragbase_operator.models.database import Database

__all__ = ["maintenance_mib", "postgres_parameters"]

MAX_CONNECTIONS: Final = 200
"""Ten a process, and it must not change with the replicas: that would restart Postgres."""


def postgres_parameters(database: Database) -> dict[str, str]:
    """Name → value; those of `spec.database.parameters` win."""
    memory = memory_mib(database.resources)
    cpus = cpus_of(database.resources)
    return {
        "max_connections": str(MAX_CONNECTIONS),
        "shared_buffers": _mb(min(memory // 4, 16_384)),
        "effective_cache_size": _mb(memory * 3 // 4),
        "work_mem": _mb(_within(memory // 64, 4, 64)),
        "maintenance_work_mem": _mb(maintenance_mib(database)),
        "max_wal_size": _mb(_log_mib(mib(database.storage.size))),
        "max_worker_processes": str(8 + cpus),
        "max_parallel_maintenance_workers": str(min(cpus, 4)),
        "random_page_cost": "1.1",
        "jit": "off",
        **database.parameters,
    }


def maintenance_mib(database: Database) -> int:
    """What building an index may take, in MiB; parallel builds take it from shared memory."""
    return _within(memory_mib(database.resources) // 8, 64, 2048)


def _log_mib(volume: int) -> int:
    """The write-ahead log of a small volume is small; from 10 GiB on growth restarts nothing."""
    return 2048 if volume >= 10 * 1024 else _within(volume // 8, 128, 1024)


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))


def _mb(value: int) -> str:
    return f"{value}MB"
