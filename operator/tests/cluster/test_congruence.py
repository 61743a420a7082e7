"""The port's promises, kept alike by a real API server and by the fake."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

from ragbase_operator.cluster.port import (
    NEVER,
    Cluster,
    ConflictError,
    KindAbsentError,
    RefusedError,
)
from ragbase_operator.models.manifest import Manifest, Ref, ref_of

from ..eventually import eventually
from .conftest import FakeTwin, RealTwin, Twin
from .widget import widget

RESTRICTED_POD = {
    "containers": [
        {"name": "main", "image": "localhost/main:1", "env": [{"name": "A", "value": "1"}]}
    ]
}


def deployment(namespace: str, **spec: Any) -> Manifest:
    labels = {"app": "one"}
    template = {"metadata": {"labels": labels}, "spec": deepcopy(RESTRICTED_POD)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def config_map(namespace: str, name: str = "one", **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "data": {"a": "1"},
    }


def owner(manifest: Manifest) -> list[Manifest]:
    return [
        {
            "apiVersion": manifest["apiVersion"],
            "kind": manifest["kind"],
            "name": manifest["metadata"]["name"],
            "uid": manifest["metadata"]["uid"],
        }
    ]


def on(version: str, manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}


def managers(manifest: Manifest) -> set[str]:
    """Of `spec.replicas`."""
    return {entry["manager"] for entry in manifest["metadata"]["managedFields"]}


async def names(cluster: Cluster, namespace: str, labels: dict[str, str] | None = None) -> set[str]:
    found = await cluster.list("v1", "ConfigMap", namespace, labels)
    return {each["metadata"]["name"] for each in found} - {"kube-root-ca.crt"}


async def test_an_apply_makes_the_object_and_answers_it(twin: Twin) -> None:
    made = await twin.cluster.apply(widget(twin.namespace, size=1))
    assert made["spec"] == {"size": 1}
    assert made["metadata"]["uid"]
    assert made["metadata"]["generation"] == 1
    assert "managedFields" not in made["metadata"]


async def test_an_apply_on_another_version_is_a_conflict(twin: Twin) -> None:
    first = await twin.cluster.apply(widget(twin.namespace, size=1))
    seen = first["metadata"]["resourceVersion"]
    second = await twin.cluster.apply(on(seen, widget(twin.namespace, size=2)))
    assert second["spec"] == {"size": 2}
    with pytest.raises(ConflictError):
        await twin.cluster.apply(on(seen, widget(twin.namespace, size=3)))


async def test_what_must_not_be_there_is_only_made(twin: Twin) -> None:
    made = await twin.cluster.apply(on(NEVER, widget(twin.namespace, size=1)))
    assert made["spec"] == {"size": 1}
    with pytest.raises(ConflictError):
        await twin.cluster.apply(on(NEVER, widget(twin.namespace, size=2)))
    assert (await twin.cluster.apply(widget(twin.namespace, size=1))) == made


async def test_who_holds_replicas_is_told(twin: Twin) -> None:
    """An autoscaler's must be told from ours, in lists as in answers."""
    ours = deployment(twin.namespace, replicas=2)
    assert managers(await twin.cluster.apply(ours)) == {"ragbase-operator"}
    twin.edit(ref_of(ours), lambda live: live["spec"].update(replicas=3))
    [listed] = await twin.cluster.list("apps/v1", "Deployment", twin.namespace)
    assert len(managers(listed)) == 1
    assert "ragbase-operator" not in managers(listed)
    assert managers(await twin.cluster.apply(deployment(twin.namespace))) == managers(listed)


async def test_the_same_apply_again_changes_nothing(twin: Twin) -> None:
    first = await twin.cluster.apply(widget(twin.namespace, size=1, env=[{"name": "A"}]))
    assert await twin.cluster.apply(widget(twin.namespace, size=1, env=[{"name": "A"}])) == first


async def test_only_changes_of_the_spec_count_up_the_generation(twin: Twin) -> None:
    async def generation(manifest: Manifest, subresource: str | None = None) -> int:
        applied = await twin.cluster.apply(manifest, subresource=subresource)
        found: int = applied["metadata"]["generation"]
        return found

    assert await generation(widget(twin.namespace, size=1)) == 1
    assert await generation(widget(twin.namespace, size=1, labels={"a": "b"})) == 1
    with_status = {**widget(twin.namespace), "status": {"phase": "Ready"}}
    assert await generation(with_status, "status") == 1
    assert await generation(widget(twin.namespace, size=2)) == 2


async def test_fields_left_out_by_a_later_apply_are_given_up(twin: Twin) -> None:
    await twin.cluster.apply(
        widget(
            twin.namespace,
            size=1,
            settings={"a": {"p": "1", "q": "2"}, "b": {"p": "3"}},
            tags=["one", "two"],
            env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        )
    )
    after = await twin.cluster.apply(
        widget(twin.namespace, settings={"a": {"p": "1"}}, tags=["two"], env=[{"name": "B"}])
    )
    assert after["spec"] == {"settings": {"a": {"p": "1"}}, "tags": ["two"], "env": [{"name": "B"}]}


async def test_fields_of_others_stay_and_ours_are_put_right(twin: Twin) -> None:
    ours = widget(twin.namespace, size=1, env=[{"name": "A", "value": "1"}], labels={"a": "1"})
    await twin.cluster.apply(ours)

    def meddle(live: Manifest) -> None:
        live["spec"]["size"] = 9
        live["spec"]["tags"] = ["theirs"]
        live["spec"]["env"][0]["note"] = "theirs"
        live["spec"]["env"].append({"name": "B", "value": "theirs"})
        live["metadata"]["labels"]["b"] = "theirs"

    twin.edit(ref_of(ours), meddle)
    after = await twin.cluster.apply(ours)
    assert after["spec"] == {
        "size": 1,
        "tags": ["theirs"],
        "env": [
            {"name": "A", "value": "1", "note": "theirs"},
            {"name": "B", "value": "theirs"},
        ],
    }
    assert after["metadata"]["labels"] == {"a": "1", "b": "theirs"}


async def test_a_field_that_another_took_over_is_not_removed_when_we_leave_it(twin: Twin) -> None:
    ours = widget(twin.namespace, size=1, tags=["a"])
    await twin.cluster.apply(ours)
    twin.edit(ref_of(ours), lambda live: live["spec"].update(size=9))
    assert (await twin.cluster.apply(widget(twin.namespace)))["spec"] == {"size": 9}


async def test_an_item_goes_with_all_that_others_wrote_into_it(twin: Twin) -> None:
    """A container of ours, say, with a variable that someone added."""
    ours = widget(twin.namespace, env=[{"name": "A"}, {"name": "B"}])
    await twin.cluster.apply(ours)
    twin.edit(ref_of(ours), lambda live: live["spec"]["env"][0].update(note="theirs"))
    after = await twin.cluster.apply(widget(twin.namespace, env=[{"name": "B"}]))
    assert after["spec"]["env"] == [{"name": "B"}]


async def test_a_value_that_others_hold_too_stays_when_we_leave_it(twin: Twin) -> None:
    ours = widget(twin.namespace, size=1)
    await twin.cluster.apply(ours)
    twin.edit(ref_of(ours), lambda live: live["spec"].update(size=2))
    await twin.cluster.apply(widget(twin.namespace, size=2, tags=["a"]))
    assert (await twin.cluster.apply(widget(twin.namespace, tags=["a"])))["spec"] == {
        "size": 2,
        "tags": ["a"],
    }


async def test_a_map_that_is_emptied_is_refused(real: RealTwin) -> None:
    """The server makes null of a map whose members we give up while we wish it empty, and refuses
    that; likewise where others hold the map itself and we leave all its members. So a map that may
    come to be empty is left out instead. The fake does not know this."""
    await real.cluster.apply(widget(real.namespace, size=1, settings={"a": {"p": "1"}}))
    with pytest.raises(RefusedError, match="null") as refused:
        await real.cluster.apply(widget(real.namespace, size=1, settings={}))
    assert refused.value.reason == "Invalid"
    left_out = await real.cluster.apply(widget(real.namespace, size=1))
    assert left_out["spec"] == {"size": 1}


async def test_status_is_written_by_its_subresource_only(twin: Twin) -> None:
    plain = widget(twin.namespace, size=1)
    made = await twin.cluster.apply({**plain, "status": {"phase": "Ready"}})
    assert "status" not in made
    condition = {"type": "Ready", "status": "True"}
    status = {**widget(twin.namespace, size=7), "status": {"conditions": [condition]}}
    after = await twin.cluster.apply(status, subresource="status")
    assert (after["spec"], after["status"]) == ({"size": 1}, {"conditions": [condition]})
    again = await twin.cluster.apply(plain)
    assert again["status"] == {"conditions": [condition]}


async def test_conditions_left_out_of_a_status_disappear(twin: Twin) -> None:
    await twin.cluster.apply(widget(twin.namespace))
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "False"}]
    full = {**widget(twin.namespace), "status": {"phase": "Up", "conditions": conditions}}
    await twin.cluster.apply(full, subresource="status")
    less = {**widget(twin.namespace), "status": {"conditions": conditions[:1]}}
    after = await twin.cluster.apply(less, subresource="status")
    assert after["status"] == {"conditions": conditions[:1]}


async def test_the_status_of_an_absent_object_is_refused(twin: Twin) -> None:
    status = {**widget(twin.namespace, "absent"), "status": {"phase": "Ready"}}
    with pytest.raises(RefusedError) as refused:
        await twin.cluster.apply(status, subresource="status")
    assert refused.value.reason == "NotFound"


async def test_an_absent_kind_is_told_from_an_absent_object(twin: Twin) -> None:
    stranger = Ref("absent.invalid/v1", "Stranger", twin.namespace, "one")
    with pytest.raises(KindAbsentError):
        await twin.cluster.list(stranger.api_version, stranger.kind, None)
    with pytest.raises(KindAbsentError):
        await twin.cluster.delete(stranger)
    assert not await twin.cluster.delete(ref_of(widget(twin.namespace, "absent")))


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254, "a..b"])
async def test_names_that_are_none_are_refused(twin: Twin, name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        await twin.cluster.apply(config_map(twin.namespace, name))
    assert refused.value.reason == "Invalid"


@pytest.mark.parametrize("value", ["a" * 64, "a b", "-a"])
async def test_labels_that_are_none_are_refused(twin: Twin, value: str) -> None:
    with pytest.raises(RefusedError) as refused:
        await twin.cluster.apply(config_map(twin.namespace, labels={"a": value}))
    assert refused.value.reason == "Invalid"


async def test_the_longest_name_and_label_are_taken(twin: Twin) -> None:
    long = config_map(twin.namespace, "a" * 253, labels={"a": "b" * 63})
    assert (await twin.cluster.apply(long))["metadata"]["name"] == "a" * 253


async def test_a_selector_may_not_change_but_the_template_may(twin: Twin) -> None:
    await twin.cluster.apply(deployment(twin.namespace, replicas=1))
    changed = deployment(twin.namespace, replicas=1)
    changed["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "2"
    after = await twin.cluster.apply(changed)
    assert after["metadata"]["generation"] == 2
    changed["spec"]["selector"] = {"matchLabels": {"app": "two"}}
    changed["spec"]["template"]["metadata"]["labels"] = {"app": "two"}
    with pytest.raises(RefusedError) as refused:
        await twin.cluster.apply(changed)
    assert refused.value.reason == "Invalid"


async def test_claim_templates_of_a_stateful_set_may_not_change(twin: Twin) -> None:
    """B115."""

    def stateful_set(size: str) -> Manifest:
        made = deployment(twin.namespace, serviceName="one")
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        }
        made["spec"]["volumeClaimTemplates"] = [claim]
        return {**made, "kind": "StatefulSet"}

    await twin.cluster.apply(stateful_set("1Gi"))
    with pytest.raises(RefusedError) as refused:
        await twin.cluster.apply(stateful_set("2Gi"))
    assert refused.value.reason == "Invalid"


async def test_lists_are_by_kind_namespace_and_labels(twin: Twin) -> None:
    await twin.cluster.apply(config_map(twin.namespace, "a", labels={"x": "1", "y": "1"}))
    await twin.cluster.apply(config_map(twin.namespace, "b", labels={"x": "1"}))
    await twin.cluster.apply(widget(twin.namespace, labels={"x": "1"}))
    assert await names(twin.cluster, twin.namespace) == {"a", "b"}
    assert await names(twin.cluster, twin.namespace, {"x": "1"}) == {"a", "b"}
    assert await names(twin.cluster, twin.namespace, {"x": "1", "y": "1"}) == {"a"}
    assert await names(twin.cluster, "elsewhere") == set()
    everywhere = await twin.cluster.list("v1", "ConfigMap", None, {"y": "1"})
    ours = [each for each in everywhere if each["metadata"]["namespace"] == twin.namespace]
    assert [(each["apiVersion"], each["kind"]) for each in ours] == [("v1", "ConfigMap")]


async def test_a_deletion_tells_whether_the_object_was_there(twin: Twin) -> None:
    ref = ref_of(await twin.cluster.apply(config_map(twin.namespace)))
    assert await twin.cluster.delete(ref)
    assert not await twin.cluster.delete(ref)
    assert twin.get(ref) is None


async def test_a_deletion_by_uid_spares_another_of_that_name(twin: Twin) -> None:
    first = await twin.cluster.apply(config_map(twin.namespace))
    ref = ref_of(first)
    await twin.cluster.delete(ref)
    second = await twin.cluster.apply(config_map(twin.namespace))
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert not await twin.cluster.delete(ref, uid=first["metadata"]["uid"])
    assert twin.get(ref) is not None
    assert await twin.cluster.delete(ref, uid=second["metadata"]["uid"])


async def test_finalizers_hold_a_deleted_object(twin: Twin) -> None:
    ref = ref_of(
        await twin.cluster.apply(config_map(twin.namespace, finalizers=["ragbase.dev/retention"]))
    )
    assert await twin.cluster.delete(ref)
    held = twin.get(ref)
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    await twin.cluster.apply(config_map(twin.namespace))
    assert twin.get(ref) is None


async def test_what_an_object_owns_goes_with_it(twin: Twin, request: pytest.FixtureRequest) -> None:
    if isinstance(twin, RealTwin):
        request.getfixturevalue("controllers")
    parent = await twin.cluster.apply(config_map(twin.namespace, "parent"))
    child = await twin.cluster.apply(
        config_map(twin.namespace, "child", ownerReferences=owner(parent))
    )
    await twin.cluster.apply(config_map(twin.namespace, "grandchild", ownerReferences=owner(child)))
    await twin.cluster.apply(config_map(twin.namespace, "stranger"))
    await twin.cluster.delete(ref_of(parent))

    async def collected() -> bool:
        return await names(twin.cluster, twin.namespace) == {"stranger"}

    await eventually(collected, seconds=60)


EMPTIED = (
    "a map that others hold too, and that we emptied: see `test_a_map_that_is_emptied_is_refused`"
)


def some_spec(draw: random.Random) -> dict[str, Any]:
    """A spec with any of the widget's fields. None is empty: the server owns empty maps and lists
    by rules of their own, see `test_a_map_that_is_emptied_is_refused`."""

    def some(of: str) -> list[str]:
        return draw.sample(of, draw.randint(1, len(of)))

    fields: dict[str, Any] = {
        "size": draw.randrange(3),
        "tags": some("xyz"),
        "settings": {each: {key: draw.choice("12") for key in some("pq")} for each in some("ab")},
        "env": [{"name": each, "value": draw.choice("12")} for each in sorted(some("ABC"))],
    }
    return {name: fields[name] for name in draw.sample(list(fields), draw.randint(1, 4))}


async def one_step(twin: Twin, draw: random.Random) -> Any:
    """One of the things that happen to an object; what is to be seen of it then."""
    manifest = widget(twin.namespace, labels={draw.choice("uv"): "1"}, **some_spec(draw))
    ref = ref_of(manifest)
    theirs = some_spec(draw)
    what = draw.choice(["apply", "apply", "apply", "edit", "status", "delete"])
    try:
        if what == "edit" and twin.get(ref):
            twin.edit(ref, lambda live: live.setdefault("spec", {}).update(theirs))
        elif what == "status":
            phase = {**manifest, "status": {"phase": draw.choice("12")}}
            await twin.cluster.apply(phase, subresource="status")
        elif what == "delete":
            return what, await twin.cluster.delete(ref)
        else:
            await twin.cluster.apply(manifest)
    except RefusedError as error:
        return EMPTIED if '"null"' in error.message else (what, error.reason)
    return what, seen(twin.get(ref))


def seen(manifest: Manifest | None) -> Any:
    """What must agree; the order in a list that is a map is not told by its type."""
    if manifest is None:
        return None
    spec = dict(manifest.get("spec", {}))
    if "env" in spec:
        spec["env"] = sorted(spec["env"], key=lambda item: str(item["name"]))
    metadata = manifest["metadata"]
    return spec, manifest.get("status"), metadata.get("labels"), metadata["generation"]


@pytest.mark.parametrize("seed", range(40))
async def test_random_histories_agree(real: RealTwin, seed: int) -> None:
    fake = FakeTwin()
    here, there = random.Random(seed), random.Random(seed)
    for step in range(12):
        found = await one_step(real, there)
        if found == EMPTIED:
            return
        assert await one_step(fake, here) == found, f"step {step}"
