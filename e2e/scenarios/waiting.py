"""What scenarios wait for and look at again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from e2e.scenarios.caller import Answer, Caller
from e2e.scenarios.kube import Kube, Manifest

__all__ = ["answers", "parts", "searching"]


def parts(kube: Kube, ragbase: str, namespace: str, component: str) -> list[Manifest]:
    """Pods of a component that are not about to end."""
    labels = f"app.kubernetes.io/instance={ragbase},app.kubernetes.io/component={component}"
    found = kube.list("Pod", namespace, labels)
    return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]


def is_ready(pod: Manifest) -> bool:
    """Whether a pod's condition Ready is True."""
    conditions = pod["status"].get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def answers(caller: Caller) -> bool:
    """Whether a search is answered in full."""
    answer = caller.call("POST", "/v1/search", {"query": "where do boats tie up"})
    return answer.status == 200 and bool(answer.body["results"]) and not answer.body["degraded"]


@contextmanager
def searching(caller: Caller) -> Iterator[list[Answer]]:
    """Search without pause meanwhile; all answers, and at least one at the end."""
    found: list[Answer] = []
    over = Event()

    def search() -> None:
        while not over.is_set():
            found.append(caller.call("POST", "/v1/search", {"query": "where do boats tie up"}))

    thread = Thread(target=search, name="searching")
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
    assert found
