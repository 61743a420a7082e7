"""More API pods, and fewer again, while searches go on."""

from __future__ import annotations

from e2e.scenarios.caller import Caller
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.stack import ready
from e2e.scenarios.waiting import is_ready, parts, searching

SCALE_S = 180.0


def test_the_api_scales_up_and_down_and_no_search_fails(
    caller: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    with searching(caller) as found:
        for replicas in (3, 1):
            kube.scale("RagBase", docs, namespace, replicas)

            def scaled(wanted: int = replicas) -> bool:
                pods = parts(kube, docs, namespace, "api")
                return len(pods) == wanted and all(map(is_ready, pods))

            wait_for(scaled, SCALE_S, lambda: kube.story(namespace, "RagBase", docs))
            ready(kube, docs, namespace)
    assert [answer for answer in found if answer.status != 200] == []
