"""The chart, a first RagBase, a first search."""

from __future__ import annotations

import base64

import pytest
from kubernetes.client.exceptions import ApiException

from e2e.scenarios.caller import Caller, caller_pod
from e2e.scenarios.documents import QUESTIONS
from e2e.scenarios.kube import Kube
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import MODEL
from e2e.scenarios.times import Times

pytestmark = pytest.mark.smoke


def test_the_chart_installs_and_the_operator_runs(operator: Release) -> None:
    (pod,) = operator.pods()
    assert pod["status"]["phase"] == "Running"


def test_a_minimal_ragbase_becomes_ready(docs: str, kube: Kube, namespace: str) -> None:
    status = (kube.get("RagBase", docs, namespace) or {})["status"]
    truths = {each["type"]: each["status"] for each in status["conditions"]}
    false = {name for name, status in truths.items() if status != "True"}
    assert false == {"ReindexRequired", "Paused"}
    assert status["endpoints"]["clientSecret"] == f"{docs}-client"


def test_documents_are_found_from_another_pod(caller: Caller, times: Times) -> None:
    assert caller.search(*QUESTIONS["harbour"][:1])[0] == "harbour"
    times.reached("first search answered")
    for expected, (semantic, keyword) in QUESTIONS.items():
        assert caller.search(semantic, "semantic")[0] == expected
        assert caller.search(keyword, "keyword")[0] == expected


def test_what_is_stored_is_embedded_by_the_model_that_the_spec_names(caller: Caller) -> None:
    answer = caller.call("POST", "/v1/embed", {"inputs": ["north quay"]})
    assert answer.status == 200, answer
    assert answer.body["model"] == MODEL


@pytest.mark.parametrize("key", ["", "rb_000000000000_" + "0" * 64], ids=["none", "unknown"])
def test_nobody_gets_in_without_a_known_key(caller: Caller, key: str) -> None:
    assert caller.call("POST", "/v1/search", {"query": "quay"}, key=key).status == 401


def test_the_key_of_a_client_reads_and_writes_and_does_no_more(caller: Caller) -> None:
    assert caller.call("GET", "/v1/keys").status == 403


def test_the_probes_key_only_reads(caller: Caller, kube: Kube, namespace: str, docs: str) -> None:
    secret = kube.get("Secret", f"{docs}-api-key", namespace) or {}
    key = base64.b64decode(secret["data"]["probe"]).decode()
    assert caller.call("POST", "/v1/search", {"query": "quay"}, key=key).status == 200
    body = {"title": "no", "content": "no"}
    assert caller.call("POST", "/v1/documents", body, key=key).status == 403


def test_the_namespace_refuses_pods_that_are_not_restricted(kube: Kube, namespace: str) -> None:
    """All pods of the scenarios run in it, so all of them are."""
    pod = caller_pod("loose", "docs-client", namespace, "localhost/none:1")
    pod["spec"]["securityContext"] = {}
    with pytest.raises(ApiException, match="violates PodSecurity"):
        kube.apply(pod)


def test_no_pod_was_started_again(kube: Kube, namespace: str, docs: str) -> None:
    """A first installation waits for what is not there yet; nothing crashes on its way."""
    restarts = {
        pod["metadata"]["name"]: sum(
            each["restartCount"] for each in pod["status"].get("containerStatuses") or []
        )
        for pod in kube.list("Pod", namespace)
    }
    assert {name: count for name, count in restarts.items() if count} == {}
