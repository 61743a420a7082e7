"""A Prometheus of our own: what it scrapes, which rules it evaluates, and its HTTP API."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from bench.server import free_port
from charts.monitoring.live.binaries import Binaries

__all__ = ["Prometheus", "QueryError", "Series", "Target", "prometheus"]

SCRAPE_S: Final = 1
"""Between scrapes, so that a minute of load is a graph."""


class QueryError(Exception):
    """Prometheus refused an expression; the message has its words."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address that serves /metrics, and the labels that a ServiceMonitor would put on it."""

    address: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Series:
    """Labels of a series, and its points: seconds since the epoch, and values."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


class Prometheus:
    """The HTTP API of a running server."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60)

    def instant(self, expression: str) -> list[Series]:
        """The value of each series now."""
        data = self._get("/api/v1/query", query=expression)
        if data["resultType"] == "scalar":
            return [Series({}, [_point(data["result"])])]
        return [Series(each["metric"], [_point(each["value"])]) for each in data["result"]]

    def span(self, expression: str, start: float, end: float, step: float) -> list[Series]:
        """The values of each series from ``start`` to ``end``."""
        data = self._get("/api/v1/query_range", query=expression, start=start, end=end, step=step)
        return [
            Series(each["metric"], [_point(pair) for pair in each["values"]])
            for each in data["result"]
        ]

    def rules(self) -> list[dict[str, Any]]:
        """All rules, with their health and what the last evaluation said."""
        groups = self._get("/api/v1/rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def targets(self) -> list[dict[str, Any]]:
        """What is scraped, and how that goes."""
        active: list[dict[str, Any]] = self._get("/api/v1/targets")["activeTargets"]
        return active

    def ready(self) -> bool:
        try:
            return self._http.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def close(self) -> None:
        self._http.close()

    def _get(self, path: str, **parameters: Any) -> Any:
        answer = self._http.get(path, params=parameters)
        body = answer.json()
        if body["status"] != "success":
            raise QueryError(f"{body['error']}: {parameters.get('query')}")
        return body["data"]


def _point(pair: Sequence[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


@contextmanager
def prometheus(
    binaries: Binaries, folder: Path, targets: Sequence[Target], rules: Sequence[Path] = ()
) -> Iterator[Prometheus]:
    """Scrape ``targets`` and evaluate the rule files until the block ends."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump(_config(targets, rules)))
    command = [
        str(binaries.prometheus),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    client = Prometheus(f"http://127.0.0.1:{port}")
    try:
        _await_ready(process, client, folder / "prometheus.log")
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait(30)


def _config(targets: Sequence[Target], rules: Sequence[Path]) -> dict[str, Any]:
    pace = f"{SCRAPE_S}s"
    return {
        "global": {"scrape_interval": pace, "scrape_timeout": pace, "evaluation_interval": pace},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": [
            {
                "job_name": "ragbase",
                # Benchmarks and backups have the namespace of their RagBase, not the operator's.
                "honor_labels": True,
                "static_configs": [
                    {"targets": [each.address], "labels": dict(each.labels)} for each in targets
                ],
            }
        ],
    }


def _await_ready(process: subprocess.Popen[bytes], client: Prometheus, log: Path) -> None:
    deadline = time.monotonic() + 120
    while not client.ready():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"Prometheus did not start: {log.read_text()[-2000:]}")
        time.sleep(0.05)
