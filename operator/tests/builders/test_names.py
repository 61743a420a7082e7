"""Names of children are valid, stable and distinct, whatever the RagBase is called."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.names import (
    LABEL_LIMIT,
    WORKLOAD_LIMIT,
    bounded,
    child,
    claim,
    label_value,
)

from .conftest import Make

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
EVERYTHING = {
    "graph": {"enabled": True},
    "rerankers": [{"name": "a" * 30}],
    "backup": {"schedule": "0 2 * * *", "claimName": "backups"},
    "modelCache": {"size": "1Gi"},
    "api": {"autoscaling": {"enabled": True}, "ingress": {"enabled": True, "host": "a.example"}},
    "networkPolicy": {"enabled": True},
}
object_names = st.from_regex(SUBDOMAIN, fullmatch=True).filter(lambda name: len(name) <= 253)


@given(object_names, st.sampled_from(["api", "reranker-bge", "postgres"]))
def test_children_are_dns_labels(name: str, suffix: str) -> None:
    """What a Service is called must be one, and no longer than its limit."""
    for limit in (LABEL_LIMIT, WORKLOAD_LIMIT):
        made = child(name, suffix, limit)
        assert len(made) <= limit
        assert DNS_LABEL.fullmatch(made)
    assert SUBDOMAIN.fullmatch(claim(name, suffix))
    value = label_value(name)
    assert len(value) <= LABEL_LIMIT
    assert LABEL_VALUE.fullmatch(value)


@given(object_names, object_names)
def test_different_names_stay_different(one: str, other: str) -> None:
    if one != other:
        assert child(one, "api") != child(other, "api")
        assert label_value(one) != label_value(other)


def test_a_name_that_fits_is_kept() -> None:
    assert child("docs", "api") == "docs-api"
    assert child("a" * 59, "api") == "a" * 59 + "-api"
    assert label_value("my.docs") == "my.docs"


def test_a_bounded_name_is_bounded_already() -> None:
    made = bounded("x" * 100)
    assert bounded(made) == made


@pytest.mark.parametrize("length", [40, 53, 63, 64, 253])
def test_long_names_differ_at_the_end_only(length: int, make: Make, inputs: Inputs) -> None:
    """B109: names of any length give valid children; two that differ at the end share none."""
    one, other = (
        build(make(EVERYTHING, name="n" * (length - 1) + end), inputs) for end in ("a", "b")
    )
    names = [{(c["kind"], c["metadata"]["name"]) for c in each} for each in (one, other)]
    assert not names[0] & names[1]
    for manifest in one:
        name = manifest["metadata"]["name"]
        limit = {"StatefulSet": 52, "CronJob": 52, "PersistentVolumeClaim": 253}
        assert len(name) <= limit.get(manifest["kind"], 63), manifest["kind"]
        for value in manifest["metadata"]["labels"].values():
            assert len(value) <= 63


def test_names_with_dots_and_digits_first(make: Make, inputs: Inputs) -> None:
    """A Service may have neither, and a RagBase both."""
    children = build(make(EVERYTHING, name="1st.docs"), inputs)
    assert all(DNS_LABEL.fullmatch(c["metadata"]["name"]) for c in children)


def test_no_name_is_made_twice(make: Make, inputs: Inputs) -> None:
    children = build(make(EVERYTHING), inputs)
    keys = [(c["apiVersion"], c["kind"], c["metadata"]["name"]) for c in children]
    assert len(keys) == len(set(keys))
