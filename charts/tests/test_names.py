"""Names stay valid, distinct and resolvable, whatever a release is called."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.helm import Helm

from .objects import CHARTS, pods_of

RELEASES = [
    "a",
    "twenty-characters-ok",
    "forty-four-characters-are-not-too-long-herex",
    "fifty-three-characters-is-the-most-that-helm-will-tak",
    "fifty-three-characters-is-the-most-that-helm-will-tal",
    "forty-four-characters-and-a-dash-at-the-cu-x",
    "my-ragbase-operator-here",
    "ragbase-operator",
]
DNS = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LIMITS = {"ClusterRole": 253, "ClusterRoleBinding": 253, "CustomResourceDefinition": 253}
EVERYTHING = CHARTS / "ragbase-operator" / "ci" / "everything-values.yaml"


@cache
def _rendered(helm: Helm, release: str, namespace: str = "retrieval") -> list[dict[str, Any]]:
    """All objects that there can be, with names that follow from the release's."""
    return helm.template(
        release,
        CHARTS / "ragbase-operator",
        f"--values={EVERYTHING}",
        "--set=fullnameOverride=,serviceAccount.name=",
        f"--namespace={namespace}",
    )


@pytest.mark.parametrize("release", RELEASES)
def test_every_name_is_valid_and_no_two_are_the_same(helm: Helm, release: str) -> None:
    """B121: names of 20, 44 and 53 characters, and one that contains the chart's name."""
    objects = _rendered(helm, release)
    for each in objects:
        name, kind = each["metadata"]["name"], each["kind"]
        assert len(name) <= LIMITS.get(kind, 63)
        assert all(DNS.fullmatch(part) for part in re.split(r"[.:]", name)), name
        for value in each["metadata"].get("labels", {}).values():
            assert len(value) <= 63
            assert LABEL.fullmatch(value), value
    counted = Counter((each["kind"], each["metadata"]["name"]) for each in objects)
    assert [key for key, number in counted.items() if number > 1] == []


def test_releases_that_differ_at_the_end_share_no_name(helm: Helm) -> None:
    """B121: neither in one namespace, nor, for what has none, in two.

    The Lease has one name on purpose: two operators that look after the same would be two writers,
    so Helm refuses the second.
    """
    names = [
        {
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
            for each in _rendered(helm, release, namespace)
            if each["kind"] not in ("CustomResourceDefinition", "Lease")
        }
        for release, namespace in (
            (RELEASES[3], "retrieval"),
            (RELEASES[4], "retrieval"),
            (RELEASES[4], "another"),
        )
    ]
    assert all(not first & second for first, second in pairwise(names))
    assert not names[0] & names[2]


@pytest.mark.parametrize("release", RELEASES)
def test_references_by_name_and_label_resolve(helm: Helm, release: str) -> None:
    """B121: the Service selects the operator's pod and no other, the test asks that Service, and
    each binding has its role and its account."""
    objects = _rendered(helm, release)
    named = {(each["kind"], each["metadata"]["name"]) for each in objects}
    pods = dict(pods_of(objects))
    (service,) = [each for each in objects if each["kind"] == "Service"]
    selector = service["spec"]["selector"].items()
    chosen = [name for name, pod in pods.items() if selector <= pod["metadata"]["labels"].items()]
    assert [name.split()[0] for name in chosen] == ["Deployment"]
    (test,) = [pod for name, pod in pods.items() if name.startswith("Pod")]
    url = urlsplit(test["spec"]["containers"][0]["args"][1])
    assert url.hostname == f"{service['metadata']['name']}.retrieval.svc"
    assert url.port == service["spec"]["ports"][0]["port"]
    for binding in objects:
        if binding["kind"].endswith("Binding"):
            assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in named
            (subject,) = binding["subjects"]
            assert ("ServiceAccount", subject["name"]) in named
    accounts = {pod["spec"].get("serviceAccountName") for pod in pods.values()} - {None}
    assert all(("ServiceAccount", name) in named for name in accounts)


@pytest.mark.parametrize("release", RELEASES)
def test_a_ragbase_is_called_as_its_release(helm: Helm, release: str) -> None:
    """B121: so what it is made of is called as the release, too."""
    (ragbase,) = helm.template(release, CHARTS / "ragbase")
    assert ragbase["metadata"]["name"] == release
