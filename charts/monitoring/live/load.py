"""Users of a stack: they ingest, search in every mode, rerank, use both APIs, and make mistakes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx

from ragbase.evaluation.builtin import builtin_dataset

__all__ = ["drive"]

_PAUSE_S: Final = 0.02
"""Between two calls of a user: the machine has few cores, and the graphs want no queue."""


def drive(url: str, localrag: str, seconds: float) -> Counter[int]:
    """Use both APIs for so long; answers by status. The first error of a user is raised."""
    statuses: Counter[int] = Counter()
    errors: list[Exception] = []
    end = time.monotonic() + seconds

    def run(user: Callable[[httpx.Client, int], httpx.Response]) -> None:
        turn = 0
        try:
            with httpx.Client(base_url=localrag if user is _files else url, timeout=60) as http:
                while time.monotonic() < end:
                    statuses[user(http, turn).status_code] += 1
                    turn += 1
                    time.sleep(_PAUSE_S)
        except Exception as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    users = (_search, _search, _graph, _rerank, _ingest, _queue, _files, _blunder)
    threads = [threading.Thread(target=run, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return statuses


_SET = builtin_dataset()
_MODES: Final = ("", "/semantic", "/keyword")


def _search(http: httpx.Client, turn: int) -> httpx.Response:
    query = _SET.queries[turn % len(_SET.queries)].text
    body: dict[str, Any] = {"query": query, "rerank": turn % 4 == 0}
    if turn % 6 == 0:
        body |= {"rerank": True, "rerank_model": "broken"}
    path = f"/v1/search{_MODES[turn % 3]}"
    if turn % 3:
        body = {"query": query}
    return http.post(path, json=body)


def _graph(http: httpx.Client, turn: int) -> httpx.Response:
    """Names of the built-in set's own texts, in graph searches and in hybrid ones."""
    chosen = _SET.documents[turn % len(_SET.documents)]
    if turn % 2:
        return http.post("/v1/search", json={"query": f"What of {chosen.title}?"})
    return http.post("/v1/search/graph", json={"query": f"What of {chosen.title}?"})


def _files(http: httpx.Client, turn: int) -> httpx.Response:
    """The second API: a file is stored, and asked for three times; a model is not there."""
    query = _SET.queries[turn % len(_SET.queries)].text
    if turn % 16 == 0:
        return http.post("/v1/chunk", json={"text": query, "model": "no-such-model"})
    if turn % 4:
        return http.post("/v1/retrieve", json={"query": query, "shouldRerank": turn % 8 == 1})
    text = _SET.documents[turn % len(_SET.documents)].text
    return http.post("/v1/store", json={"document": f"{text} note {turn}", "folder_id": "a"})


def _rerank(http: httpx.Client, turn: int) -> httpx.Response:
    texts = [each.text for each in _SET.documents[:8]]
    query = _SET.queries[turn % len(_SET.queries)].text
    return http.post("/v1/rerank", json={"query": query, "texts": texts})


def _ingest(http: httpx.Client, turn: int) -> httpx.Response:
    """Every fourth document with context lines."""
    lines = {"contextual_retrieval": turn % 4 == 0}
    return http.post("/v1/documents", json={**_document(turn, f"note {turn}"), **lines})


def _queue(http: httpx.Client, turn: int) -> httpx.Response:
    headers = {"Prefer": "respond-async"}
    return http.post("/v1/documents", json=_document(turn, "queued"), headers=headers)


def _blunder(http: httpx.Client, turn: int) -> httpx.Response:
    """What is refused: no text, an unknown path; and a reranker that nobody runs."""
    if turn % 3 == 0:
        return http.post("/v1/documents", json={"title": "", "content": ""})
    if turn % 3 == 1:
        return http.get(f"/v1/no-such-route/{turn}")
    body = {"query": "ship", "texts": ["a", "b"], "rerank_model": "broken"}
    return http.post("/v1/rerank", json=body)


def _document(turn: int, note: str) -> Mapping[str, Any]:
    chosen = _SET.documents[turn % len(_SET.documents)]
    return {
        "title": chosen.title,
        "content": f"{chosen.text}\n\n{note}",
        "external_id": f"{note}-{chosen.id}",
    }
