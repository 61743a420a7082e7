"""Postgres, inference server, API and worker as processes, and where their metrics are."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from bench.server import free_port, start_api, start_inference, start_ragbase
from charts.monitoring.live.prometheus import Target
from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.storage.migrations import migrate
from services.api.tests.llm_server import Talker, talking
from services.api.tests.tiny_reranker import write_reranker

__all__ = ["RAGBASE", "START_S", "Stack", "running_stack"]

RAGBASE: Final = "docs"
START_S: Final = 300.0
"""Within which each part must answer: seconds on an idle machine, minutes on a busy one."""
_MINILM: Final = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Stack:
    """What the load talks to, and what Prometheus scrapes."""

    url: str
    localrag: str
    """Of the second API."""
    targets: list[Target]


@contextmanager
def running_stack(folder: Path) -> Iterator[Stack]:
    """Run it below ``folder`` until the block ends.

    One reranker works, one is at an address where nobody listens: so answers are degraded, and
    rankings fail, as they do in life. Entities are found by spaCy in the worker; the language model
    is a script.
    """
    with ExitStack() as stack:
        postgres = stack.enter_context(
            EmbeddedPostgres(folder / "postgres", settings=dict(FAST_SETTINGS))
        )
        asyncio.run(migrate(postgres.dsn, dialect="native"))
        reranker = write_reranker(folder / "reranker")
        process, inference = start_inference(
            "--model-id", _MINILM, "--model", f"tiny={reranker}", wait_s=START_S
        )
        stack.callback(_end, process)
        talker = stack.enter_context(talking(Talker()))
        environment = {
            "DATABASE_URL": postgres.dsn,
            "RAGBASE_EXTRACTION": "ner",
            "LLM_BASE_URL": talker.url,
            "RAGBASE_AUTH": "off",
            "RAGBASE_LOG_LEVEL": "error",
            "RAGBASE_WORKERS": "0",
            "RAGBASE_EMBEDDING_ENGINE": "tei",
            "EMBEDDING_URL": inference,
            "RAGBASE_RERANKERS": json.dumps(
                {
                    "default": {"url": f"{inference}/models/tiny"},
                    "broken": {"url": f"http://127.0.0.1:{free_port()}"},
                }
            ),
        }
        api_metrics, worker_metrics, localrag_metrics = free_port(), free_port(), free_port()
        process, url = start_api(
            {**environment, "RAGBASE_METRICS_PORT": str(api_metrics)}, wait_s=START_S
        )
        stack.callback(_end, process)
        worker = {**environment, "RAGBASE_METRICS_PORT": str(worker_metrics)}
        stack.callback(_end, start_ragbase("worker", environment=worker))
        _await(f"http://127.0.0.1:{worker_metrics}/health/live")
        localrag_port = free_port()
        localrag = {
            **environment,
            "RAGBASE_METRICS_PORT": str(localrag_metrics),
            "LOCALRAG_PORT": str(localrag_port),
            "LOCALRAG_MODELS_DIR": str(folder / "models"),
            "LOCALRAG_EMBEDDING_MODEL": _MINILM,
            "LOCALRAG_RERANKER_MODEL": "default",
        }
        stack.callback(_end, start_ragbase("localrag", environment=localrag))
        _await(f"http://127.0.0.1:{localrag_port}/health/ready")
        yield Stack(
            url,
            f"http://127.0.0.1:{localrag_port}",
            [
                _target(f"127.0.0.1:{api_metrics}", "api"),
                _target(f"127.0.0.1:{worker_metrics}", "worker"),
                _target(f"127.0.0.1:{localrag_metrics}", "localrag"),
                _target(inference.removeprefix("http://"), "embedding"),
            ],
        )


def _target(address: str, component: str) -> Target:
    labels = {
        "ragbase": RAGBASE,
        "component": component,
        "pod": f"{RAGBASE}-{component}-0",
    }
    return Target(address, labels)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(url: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"{url} did not answer")
        time.sleep(0.05)
