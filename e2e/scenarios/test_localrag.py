"""The second API beside the first: files are stored and retrieved by its Service.

Chunks are embedded by the served model: no GGUF file can be had where there is no way out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from e2e.scenarios.caller import Caller, start_caller
from e2e.scenarios.documents import DOCUMENTS, QUESTIONS
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import MODEL, ready
from e2e.scenarios.waiting import is_ready, parts

START_S = 180.0
SPEC = {
    "enabled": True,
    "storage": {"size": "1Gi"},
    "resources": {"requests": {"cpu": "50m", "memory": "192Mi"}},
}


@pytest.fixture(scope="module")
def files(
    caller: Caller, kube: Kube, namespace: str, docs: str, operator: Release
) -> Iterator[Caller]:
    """A pod that calls the second API of the shared RagBase, which has one meanwhile."""
    kube.patch("RagBase", docs, namespace, {"spec": {"localrag": SPEC}})

    def up() -> bool:
        return any(map(is_ready, parts(kube, docs, namespace, "localrag")))

    wait_for(up, START_S, lambda: kube.story(namespace, "RagBase", docs))
    ready(kube, docs, namespace)
    found = start_caller(kube, docs, namespace, operator.api_image, url_key="localragUrl")
    yield found
    kube.delete("Pod", found.pod, namespace, grace_s=0)
    kube.patch("RagBase", docs, namespace, {"spec": {"localrag": None}})
    wait_for(
        lambda: kube.get("Deployment", f"{docs}-localrag", namespace) is None,
        START_S,
        lambda: kube.story(namespace, "RagBase", docs),
    )
    ready(kube, docs, namespace)
    assert kube.get("PersistentVolumeClaim", f"{docs}-localrag-models", namespace)
    kube.delete("PersistentVolumeClaim", f"{docs}-localrag-models", namespace)


def test_clients_are_told_where_it_is(files: Caller, kube: Kube, namespace: str, docs: str) -> None:
    status = (kube.get("RagBase", docs, namespace) or {})["status"]
    secret = kube.get("Secret", f"{docs}-client", namespace) or {}
    url = base64.b64decode(secret["data"]["localragUrl"]).decode()
    assert url == status["endpoints"]["localrag"]
    assert url == f"http://{docs}-localrag.{namespace}.svc:57352"
    assert files.call("GET", "/").body == "Local RAG API Service"


def test_files_are_stored_retrieved_and_deleted(files: Caller, caller: Caller) -> None:
    stored = {}
    for name, text in DOCUMENTS.items():
        answer = files.call("POST", "/v1/store", {"document": text, "folder_id": "e2e"})
        assert answer.status == 200, answer
        stored[name] = answer.body["file_id"]
    for name, (meaning, _) in QUESTIONS.items():
        body = {"query": meaning, "folder_id": "e2e", "shouldRerank": False}
        answer = files.call("POST", "/v1/retrieve", body)
        assert answer.status == 200, answer
        assert answer.body["results"][0]["metadata"]["file_id"] == stored[name]
        assert answer.body["results"][0]["content"] == DOCUMENTS[name]
    mine = caller.call("GET", "/v1/documents?collection=localrag")
    assert {each["external_id"] for each in mine.body} == set(stored.values())
    for file_id in stored.values():
        assert files.call("POST", "/v1/delete", {"file_id": file_id}).status == 200
    listed = files.call("GET", "/v1/documents?folder_id=e2e")
    assert (listed.status, listed.body["data"]) == (200, [])


def test_the_served_model_is_listed_and_embeds(files: Caller) -> None:
    models = files.call("GET", "/v1/models")
    assert models.status == 200, models
    assert {"name": MODEL, "type": "embedding", "loaded": True} in models.body
    chunk = files.call("POST", "/v1/chunk", {"text": DOCUMENTS["harbour"], "model": MODEL})
    assert chunk.status == 200, chunk
    assert len(chunk.body["chunks"][0]["content_embedding"]) == 384
    missing = files.call("POST", "/v1/chunk", {"text": "a", "model": "none-such"})
    assert missing.status in (400, 404), missing


@pytest.mark.parametrize("key", ["", "rb_000000000000_" + "0" * 64], ids=["none", "unknown"])
def test_nobody_gets_in_without_a_known_key(files: Caller, key: str) -> None:
    assert files.call("POST", "/v1/retrieve", {"query": "quay"}, key=key).status == 401


def test_its_metrics_say_which_api_they_are_of(
    files: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    assert (
        files.call("POST", "/v1/retrieve", {"query": "quay", "shouldRerank": False}).status == 200
    )
    (pod,) = parts(kube, docs, namespace, "localrag")
    text = kube.proxied(pod["metadata"]["name"], namespace, 9090, "metrics")
    assert 'route="localrag:/v1/retrieve",status="200"' in text
