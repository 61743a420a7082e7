"""Generated Secrets: kept where they are there, made where they are not, rotated by a change."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ragbase.services.keys_format import key_id_of
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.labels import CONFIG_HASH
from ragbase_operator.builders.secrets import api_key
from ragbase_operator.models.objects import RagBase

from .conftest import Make
from .found import Found

GRAPH = {"graph": {"enabled": True}}


def _secrets(children: list[dict[str, Any]], found: Found) -> dict[str, dict[str, str]]:
    return {name: found.secret(children, name) for name in found.names(children, "Secret")}


def test_what_is_there_is_kept(make: Make, inputs: Inputs, found: Found) -> None:
    """A second reconcile, with other randomness, writes the same Secrets."""
    first = build(make(GRAPH), inputs)
    again = dataclasses.replace(
        inputs,
        secrets=_secrets(first, found),
        fresh=dict.fromkeys(inputs.fresh, "f" * 64),
    )
    assert build(make(GRAPH), again) == first


def test_nothing_fresh_is_needed_once_all_is_there(
    make: Make, inputs: Inputs, found: Found
) -> None:
    first = build(make(GRAPH), inputs)
    again = dataclasses.replace(inputs, secrets=_secrets(first, found), fresh={})
    assert build(make(GRAPH), again) == first
    with pytest.raises(KeyError):
        build(make(GRAPH), dataclasses.replace(inputs, fresh={}))


def test_keys_have_the_form_that_the_api_reads(make: Make, inputs: Inputs, found: Found) -> None:
    """`rb_<id>_<secret>`; all differ."""
    secrets = _secrets(build(make(), inputs), found)
    keys = [*secrets["docs-api-key"].values(), secrets["docs-client"]["apiKey"]]
    assert len({key_id_of(key) for key in keys} - {None}) == 3


def test_the_id_of_a_key_tells_nothing_of_its_secret() -> None:
    seed = "0123456789abcdef" * 4
    key = api_key(seed)
    assert key.endswith(f"_{seed}")
    assert key.split("_")[1] not in seed


def test_a_password_with_signs_is_quoted(make: Make, inputs: Inputs, found: Found) -> None:
    """Where somebody sets one: in the URL, and in Memgraph's statement."""
    password = "p@ss/w:rd'\\%"
    given = dataclasses.replace(
        inputs,
        secrets={"docs-database": {"password": password}, "docs-memgraph": {"password": password}},
    )
    secrets = _secrets(build(make(GRAPH), given), found)
    quoted = "p%40ss%2Fw%3Ard%27%5C%25"
    assert secrets["docs-database"]["uri"] == (
        f"postgresql://ragbase:{quoted}@docs-postgres:5432/ragbase"  # pragma: allowlist secret
    )
    assert secrets["docs-memgraph"]["init.cypherl"] == (
        "SET PASSWORD FOR `ragbase` TO 'p@ss/w:rd\\'\\\\%';\n"
    )


def _hashes(children: list[dict[str, Any]], found: Found) -> dict[str, str]:
    return {
        name: template["metadata"]["annotations"][CONFIG_HASH]
        for name, template in found.templates(children)
        if CONFIG_HASH in template["metadata"].get("annotations", {})
    }


@pytest.mark.parametrize(
    ("secret", "key", "rolled"),
    [
        ("docs-database", "password", {"docs-postgres", "docs-api", "docs-worker"}),
        ("docs-memgraph", "password", {"docs-memgraph", "docs-api", "docs-worker"}),
        ("docs-api-key", "admin", {"docs-api", "docs-worker"}),
        ("docs-client", "apiKey", {"docs-api", "docs-worker"}),
    ],
)
def test_rotation_rolls_whoever_reads_it(
    make: Make, inputs: Inputs, found: Found, secret: str, key: str, rolled: set[str]
) -> None:
    """B111: a changed Secret rolls all its readers by their template, and nobody else."""
    first = build(make(GRAPH), inputs)
    there = _secrets(first, found)
    there[secret] = {**there[secret], key: "rotated"}
    before = _hashes(first, found)
    after = _hashes(build(make(GRAPH), dataclasses.replace(inputs, secrets=there)), found)
    assert {name.split()[1] for name in before if before[name] != after[name]} == rolled


@pytest.mark.parametrize("source", ["everything", "external"])
def test_a_referenced_secret_rolls_its_readers(
    source: str, ragbase: RagBase, inputs: Inputs, found: Found
) -> None:
    """B111 for Secrets of others: their digest is part of the template."""
    name = {"everything": "remote-reranker", "external": "managed-postgres"}[source]
    before = _hashes(build(ragbase, inputs), found)
    changed = dataclasses.replace(inputs, referenced={name: "another"})
    after = _hashes(build(ragbase, changed), found)
    readers = {"docs-api", "docs-worker", "docs-localrag"} & {key.split()[1] for key in before}
    assert {key.split()[1] for key in before if before[key] != after[key]} == readers


def test_no_keys_without_auth(make: Make, inputs: Inputs, found: Found) -> None:
    children = build(make({"api": {"auth": {"enabled": False}}}), inputs)
    assert found.secret(children, "docs-client") == {"url": "http://docs-api.search.svc:8000"}
    assert "docs-api-key" not in found.names(children, "Secret")
    assert "RAGBASE_ADMIN_KEY" not in found.env(found.one(children, "Deployment", "docs-api"))
