"""Changes of settings and of secrets."""

from __future__ import annotations

import base64

from e2e.scenarios.caller import Caller, start_caller
from e2e.scenarios.documents import DOCUMENTS
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ready
from e2e.scenarios.waiting import answers, parts, searching

ROLL_S = 240.0


def uids(kube: Kube, docs: str, namespace: str, *components: str) -> set[str]:
    """Which pods there are."""
    found = (pod for each in components for pod in parts(kube, docs, namespace, each))
    return {pod["metadata"]["uid"] for pod in found}


def test_a_changed_setting_rolls_the_api_and_no_search_fails(
    caller: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    before = uids(kube, docs, namespace, "api", "worker")
    others = uids(kube, docs, namespace, "postgres", "embedding")
    with searching(caller) as found:
        change = {"RAGBASE_MAX_QUERY_CHARS": "40"}
        kube.patch("RagBase", docs, namespace, {"spec": {"api": {"settings": change}}})

        def rolled() -> bool:
            now = uids(kube, docs, namespace, "api", "worker")
            return len(now) == 2 and not now & before

        wait_for(rolled, ROLL_S, lambda: kube.story(namespace, "RagBase", docs))
        ready(kube, docs, namespace)
    assert [answer for answer in found if answer.status != 200] == []
    assert caller.call("POST", "/v1/search", {"query": "q" * 41}).status == 422
    assert uids(kube, docs, namespace, "postgres", "embedding") == others
    kube.patch("RagBase", docs, namespace, {"spec": {"api": {"settings": None}}})
    wait_for(
        lambda: caller.call("POST", "/v1/search", {"query": "q" * 41}).status == 200,
        ROLL_S,
        lambda: kube.story(namespace, "RagBase", docs),
    )
    ready(kube, docs, namespace)


def test_a_rotated_password_of_the_database_reaches_all_pods(
    caller: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    """B111: whoever restarts later, too."""
    before = uids(kube, docs, namespace, "api", "worker", "postgres")
    kube.patch("Secret", f"{docs}-database", namespace, {"data": {"password": None}})

    def rolled() -> bool:
        now = uids(kube, docs, namespace, "api", "worker", "postgres")
        return len(now) == 3 and not now & before

    wait_for(rolled, ROLL_S, lambda: kube.story(namespace, "RagBase", docs))
    wait_for(lambda: answers(caller), ROLL_S, lambda: kube.story(namespace, "RagBase", docs))
    ready(kube, docs, namespace)
    (worker,) = parts(kube, docs, namespace, "worker")
    kube.delete("Pod", worker["metadata"]["name"], namespace)
    ready(kube, docs, namespace)
    assert caller.call("GET", "/v1/stats").body["documents"] == len(DOCUMENTS)


def test_a_rotated_key_of_the_client_is_the_only_one_that_opens(
    caller: Caller, kube: Kube, namespace: str, docs: str, operator: Release
) -> None:
    """A pod that starts later reads the new key; the old one is refused."""
    old = (kube.get("Secret", f"{docs}-client", namespace) or {})["data"]["apiKey"]
    kube.patch("Secret", f"{docs}-client", namespace, {"data": {"apiKey": None}})

    def renewed() -> bool:
        now = (kube.get("Secret", f"{docs}-client", namespace) or {})["data"].get("apiKey")
        return now not in (None, old)

    wait_for(renewed, ROLL_S, lambda: "the key is not made anew")
    wait_for(lambda: not answers(caller), ROLL_S, lambda: "the old key still opens")
    old_key = base64.b64decode(old).decode()
    start_caller(kube, docs, namespace, operator.api_image)
    wait_for(lambda: answers(caller), ROLL_S, lambda: kube.story(namespace, "RagBase", docs))
    assert caller.call("POST", "/v1/search", {"query": "quay"}, key=old_key).status == 401
    ready(kube, docs, namespace)
