"""The chart is upgraded and rolled back; what it looks after goes on."""

from __future__ import annotations

from e2e.scenarios.caller import Caller
from e2e.scenarios.kube import Kube
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ready
from e2e.scenarios.waiting import parts, searching

COMPONENTS = ("api", "worker", "embedding", "postgres")


def test_an_upgrade_and_a_rollback_replace_the_operator_alone(
    operator: Release, caller: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    before = [parts(kube, docs, namespace, each)[0]["metadata"]["uid"] for each in COMPONENTS]
    (pod,) = operator.pods()
    with searching(caller) as found:
        operator.upgrade("--set=settings.logLevel=debug")
        (upgraded,) = operator.pods()
        assert upgraded["metadata"]["uid"] != pod["metadata"]["uid"]
        assert "RAGBASE_OPERATOR_LOG_LEVEL" in str(upgraded["spec"]["containers"][0]["env"])
        ready(kube, docs, namespace)
        operator.rollback()
        (rolled_back,) = operator.pods()
        assert rolled_back["metadata"]["uid"] != upgraded["metadata"]["uid"]
        ready(kube, docs, namespace)
    assert [answer for answer in found if answer.status != 200] == []
    after = [parts(kube, docs, namespace, each)[0]["metadata"]["uid"] for each in COMPONENTS]
    assert after == before
