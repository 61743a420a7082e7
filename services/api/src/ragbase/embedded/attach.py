"""The server of a state folder, for a command that needs it a while: running already or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from ragbase.embedded import cluster
from ragbase.embedded.ownership import is_held, read_postmaster
from ragbase.embedded.server import EmbeddedPostgres
from ragbase.errors import ConfigurationError

__all__ = ["attached"]


@contextmanager
def attached(data_dir: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """URL of the database on ``data_dir``.

    Where another RagBase owns the folder, its server is used and stays as it is; else one is
    started, with ``settings``, and stopped at the end. Raises `ConfigurationError`.
    """
    if is_held(data_dir):
        yield _running(data_dir)
        return
    with EmbeddedPostgres(data_dir, settings=settings) as server:
        yield server.dsn


def _running(data_dir: Path) -> str:
    found = read_postmaster(data_dir)
    if found is None or found.port is None:
        raise ConfigurationError(
            f"Another RagBase is just starting or stopping its Postgres in {data_dir}. "
            "Try again in a moment."
        )
    return cluster.address(data_dir, found.socket_dir, found.port, cluster.DATABASE)
