"""Children of every kind that somebody deletes or edits, on a real API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import ControlPlane
from e2e.operator_kit import Harness
from e2e.operator_kit.foreign import install_foreign_crds, remove_foreign_crds
from e2e.operator_kit.patience import patience
from ragbase_operator.builders.kinds import CHILD_KINDS, FOREIGN_KINDS, Kind
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.rbac.rules import plural

INPUT = Path(__file__).parents[1] / "builders" / "inputs" / "everything.yaml"
SPOILT = "app.kubernetes.io/part-of"
"""A label of every child."""
MERGE = "application/merge-patch+json"
WITHIN_S = 10


@pytest.fixture(scope="module")
def foreign(server: ControlPlane) -> Iterator[None]:
    """The cluster knows the kinds of other operators."""
    install_foreign_crds(server)
    yield
    remove_foreign_crds(server)


class Children:
    """One child of each kind."""

    def __init__(self, stage: Harness, uid: str) -> None:
        self.stage = stage
        self.uid = uid
        self.chosen: dict[str, Manifest] = {}
        """Path to the object as it was."""

    def choose(self) -> set[str]:
        """The first of each kind; the kinds that there are."""
        kinds = set()
        for kind in (*CHILD_KINDS, *FOREIGN_KINDS):
            path = self.path(kind)
            query = f"{path}?labelSelector=ragbase.dev/owner={self.uid}"
            items = self.stage.server.request("GET", query).body.get("items") or []
            for each in items[:1]:
                kinds.add(kind.kind)
                self.chosen[f"{path}/{each['metadata']['name']}"] = each
        return kinds

    def path(self, kind: Kind) -> str:
        root = "apis" if "/" in kind.api_version else "api"
        space = self.stage.namespace
        return f"/{root}/{kind.api_version}/namespaces/{space}/{plural(kind.kind)}"

    def request(self, method: str, path: str, body: Any = None) -> Manifest:
        answer = self.stage.server.request(method, path, body, content_type=MERGE)
        found: Manifest = answer.body
        return found

    def made_anew(self, path: str) -> bool:
        now = self.request("GET", path)
        return now.get("metadata", {}).get("uid") not in (
            None,
            self.chosen[path]["metadata"]["uid"],
        )

    def put_right(self, path: str) -> bool:
        labels = self.request("GET", path).get("metadata", {}).get("labels") or {}
        return bool(labels.get(SPOILT) == "ragbase")

    def wrong(self, is_right: Callable[[str], bool]) -> list[str]:
        return [path for path in self.chosen if not is_right(path)]

    async def until_right(self, is_right: Callable[[str], bool]) -> float:
        """Seconds until all are; AssertionError with those that are not after a while."""
        try:
            return await self.stage.until(lambda: not self.wrong(is_right), 30)
        except TimeoutError:
            raise AssertionError(self.wrong(is_right)) from None


@pytest.mark.usefixtures("foreign")
async def test_a_child_of_any_kind_is_restored(stage: Harness) -> None:
    """B107: all kinds, database and volumes included."""
    await stage.start()
    spec: dict[str, Any] = yaml.safe_load(INPUT.read_text())["spec"]
    await stage.create(spec)
    await stage.until(lambda: stage.condition(), 30)
    body = stage.get("RagBase", "kb")
    assert body is not None
    children = Children(stage, body["metadata"]["uid"])
    expected = {each.kind for each in (*CHILD_KINDS, *FOREIGN_KINDS)} - {"Cluster", "PodMonitor"}
    await stage.until(lambda: children.choose() >= expected, 30)

    for path in children.chosen:
        children.request("PATCH", path, {"metadata": {"labels": {SPOILT: "spoilt"}}})
    assert await children.until_right(children.put_right) <= patience(WITHIN_S)

    for path in children.chosen:
        assert stage.server.request("DELETE", f"{path}?propagationPolicy=Background").status < 300
    assert await children.until_right(children.made_anew) <= patience(WITHIN_S)


async def test_two_that_want_the_same_child_live_in_peace(stage: Harness) -> None:
    """The reranker `api` of `kb` and the API of `kb-reranker` have one name."""
    await stage.start(RAGBASE_OPERATOR_RESYNC_SECONDS="5", RAGBASE_OPERATOR_RETRY_SECONDS="1")
    await stage.create(name="kb-reranker")
    await stage.until_ready("kb-reranker")
    await stage.create({"rerankers": [{"name": "api"}]})
    await stage.until(lambda: stage.condition("RerankersReady").get("reason") == "NameTaken")
    before = stage.get("Deployment", "kb-reranker-api")
    assert before is not None
    for name in ("kb-config", "kb-reranker-config"):
        stage.delete("ConfigMap", name)
        await stage.until(lambda name=name: stage.get("ConfigMap", name))
    after = stage.get("Deployment", "kb-reranker-api")
    assert after is not None
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
    assert stage.is_ready("kb-reranker")
