"""The number of an API's pods, once it is an autoscaler's, on a real API server."""

from __future__ import annotations

from e2e.operator_kit import Harness

FIXED = {"api": {"replicas": 5}}
SCALED = {"api": {"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 20}}}
QUICK = {"RAGBASE_OPERATOR_RESYNC_SECONDS": "5"}


def replicas(stage: Harness) -> int:
    api = stage.get("Deployment", "kb-api")
    assert api is not None
    return int(api["spec"]["replicas"])


def scale(stage: Harness, number: int) -> None:
    """As the controller of autoscalers does."""
    path = f"/apis/apps/v1/namespaces/{stage.namespace}/deployments/kb-api/scale"
    answer = stage.server.request(
        "PATCH",
        f"{path}?fieldManager=kube-controller-manager",
        {"spec": {"replicas": number}},
        content_type="application/merge-patch+json",
    )
    assert answer.status == 200, answer.body


def writes(stage: Harness) -> list[tuple[str, str, str, int]]:
    """Who wrote to the Deployment, for the message of a test that fails."""
    return [
        (each.user, each.verb, each.resource, each.code)
        for each in stage.server.writes()
        if (each.namespace, each.name) == (stage.namespace, "kb-api")
        and each.resource in ("deployments", "deployments/scale")
    ]


async def reconciled(stage: Harness, times: int = 3) -> None:
    """So many passes more, each of them because a child of ours was taken away."""
    for _ in range(times):
        stage.delete("ConfigMap", "kb-config")
        await stage.until(lambda: stage.get("ConfigMap", "kb-config"), 30)


async def observed(stage: Harness) -> None:
    """The operator has seen the newest spec."""

    def seen() -> bool:
        body = stage.get("RagBase", "kb") or {}
        status = body.get("status") or {}
        return bool(status.get("observedGeneration") == body["metadata"]["generation"])

    await stage.until(seen, 30)


async def test_replicas_are_the_autoscalers_as_long_as_there_is_one(stage: Harness) -> None:
    await stage.start(**QUICK)
    await stage.create(SCALED)
    await observed(stage)
    for number in (7, 3, 12):
        scale(stage, number)
        await reconciled(stage, 2)
        assert replicas(stage) == number, writes(stage)


async def test_switching_it_on_and_off_and_on_leaves_no_gap(stage: Harness) -> None:
    await stage.start(**QUICK)
    await stage.create(FIXED)
    await observed(stage)
    assert replicas(stage) == 5
    stage.write("RagBase", "kb", {"spec": SCALED})
    await observed(stage)
    await reconciled(stage)
    assert replicas(stage) == 5, "as it was, until the autoscaler sets it"
    scale(stage, 9)
    await reconciled(stage)
    assert replicas(stage) == 9
    stage.write("RagBase", "kb", {"spec": FIXED})
    await observed(stage)
    await stage.until(lambda: replicas(stage) == 5)
    stage.write("RagBase", "kb", {"spec": SCALED})
    await observed(stage)
    scale(stage, 8)
    await reconciled(stage)
    assert replicas(stage) == 8


async def test_a_new_operator_leaves_them_alone_too(stage: Harness) -> None:
    """Who holds them is read from the API server: nothing is remembered."""
    await stage.start(**QUICK)
    await stage.create(FIXED)
    await observed(stage)
    stage.write("RagBase", "kb", {"spec": SCALED})
    await observed(stage)
    scale(stage, 9)
    await stage.stop()
    await stage.start(**QUICK)
    await reconciled(stage)
    assert replicas(stage) == 9
