"""Custom resources as they are read."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ragbase_operator.models.kinds import KINDS
from ragbase_operator.models.objects import RagBase, RagBaseBenchmark
from ragbase_operator.models.pods import PodOverrides, Resources
from ragbase_operator.models.ragbase import RagBaseSpec
from ragbase_operator.models.texts import by_key


def test_amounts_are_texts_whatever_they_are_written_as() -> None:
    read = Resources.model_validate({"requests": {"cpu": 2, "memory": "1Gi"}})
    assert read.requests == {"cpu": "2", "memory": "1Gi"}


@pytest.mark.parametrize("amount", [True, 0.5, "1 Gi", "-1", "Gi", None])
def test_what_is_no_amount_is_refused(amount: Any) -> None:
    with pytest.raises(ValidationError):
        Resources.model_validate({"requests": {"cpu": amount}})


def test_a_variable_needs_a_name() -> None:
    kept = {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert PodOverrides.model_validate({"env": [kept]}).env == [kept]
    with pytest.raises(ValidationError, match="needs a `name`"):
        PodOverrides.model_validate({"env": [{"value": "1"}]})


def test_unknown_fields_are_refused_and_models_do_not_change() -> None:
    with pytest.raises(ValidationError, match="databse"):
        RagBaseSpec.model_validate({"databse": {}})
    spec = RagBaseSpec()
    with pytest.raises(ValidationError, match="frozen"):
        spec.paused = True  # type: ignore[misc]


def test_models_are_read_and_written_in_camel_case() -> None:
    spec = RagBaseSpec.model_validate({"networkPolicy": {"allowFrom": [{"ipBlock": {}}]}})
    assert spec.network_policy.allow_from == [{"ipBlock": {}}]
    assert spec.model_dump(by_alias=True)["networkPolicy"]["allowFrom"] == [{"ipBlock": {}}]


@pytest.mark.parametrize("folder", ["/abs", "../up", "a/../b", "a//b", "a/", ".hidden", ""])
def test_folders_stay_below_the_root_of_their_volume(folder: str) -> None:
    restore = next(kind for kind in KINDS if kind.name == "RagBaseRestore")
    with pytest.raises(ValidationError):
        restore.spec.model_validate({"ragbase": "docs", "folder": folder})
    assert restore.spec.model_validate({"ragbase": "docs", "folder": "daily/20261130T020000Z"})


def test_objects_of_different_kinds_are_told_apart() -> None:
    benchmark = next(kind for kind in KINDS if kind.name == "RagBaseBenchmark")
    spec = benchmark.spec.model_validate({"ragbase": "docs"})
    task = RagBaseBenchmark("a", "n", "u", 1, spec)  # type: ignore[arg-type]
    assert task != RagBase("a", "n", "u", 1, RagBaseSpec())
    assert task.spec.ragbase == "docs"


def test_names_of_kinds_are_distinct() -> None:
    names = [name for kind in KINDS for name in (kind.plural, kind.short, kind.name.lower())]
    assert len(set(names)) == len(names)


def test_by_key_names_all_keys() -> None:
    assert by_key("mode", "concurrency")["x-kubernetes-list-map-keys"] == ["mode", "concurrency"]
