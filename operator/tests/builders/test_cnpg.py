"""A Cluster of CloudNativePG."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.names import database_secret

from .conftest import Make
from .found import Found


def _cluster(make: Make, inputs: Inputs, found: Found, **database: Any) -> dict[str, Any]:
    children = build(make({"database": {"mode": "cnpg", **database}}), inputs)
    assert not found.names(children, "StatefulSet")
    spec: dict[str, Any] = found.one(children, "Cluster", "docs-postgres")["spec"]
    return spec


def test_its_owner_logs_in_with_our_secret(make: Make, inputs: Inputs, found: Found) -> None:
    """The address in it is the Service that leads to the primary."""
    initdb = _cluster(make, inputs, found)["bootstrap"]["initdb"]
    children = build(make({"database": {"mode": "cnpg"}}), inputs)
    secret = found.one(children, "Secret", initdb["secret"]["name"])
    values = found.secret(children, initdb["secret"]["name"])
    assert secret["type"] == "kubernetes.io/basic-auth"
    assert values["username"] == initdb["owner"]
    assert values["uri"].endswith(f"@docs-postgres-rw:5432/{initdb['database']}")


def test_its_services_have_valid_names(make: Make, inputs: Inputs, found: Found) -> None:
    """B109: it appends to its name, so a Cluster's is shorter than others'."""
    long = make({"database": {"mode": "cnpg"}}, name="n" * 63)
    children = build(long, inputs)
    (name,) = found.names(children, "Cluster")
    assert len(name) <= 50
    uri = found.secret(children, database_secret("n" * 63))["uri"]
    assert f"@{name}-rw:5432/" in uri


def test_extensions_are_made_by_the_superuser(make: Make, inputs: Inputs, found: Found) -> None:
    """pg_search only where the spec says that the image has it."""
    plain = _cluster(make, inputs, found)
    assert plain["bootstrap"]["initdb"]["postInitApplicationSQL"] == [
        "CREATE EXTENSION IF NOT EXISTS vector"
    ]
    assert "shared_preload_libraries" not in plain["postgresql"]
    chosen = _cluster(make, inputs, found, lexical="paradedb")
    assert chosen["postgresql"]["shared_preload_libraries"] == ["pg_search"]
    assert (
        "CREATE EXTENSION IF NOT EXISTS pg_search"
        in (chosen["bootstrap"]["initdb"]["postInitApplicationSQL"])
    )


def test_keyword_search_on_standbys_is_native(make: Make, inputs: Inputs, found: Found) -> None:
    """pg_search does not replicate its index; with one instance the image decides."""
    for instances, lexical in ((1, "auto"), (3, "native")):
        spec = {"database": {"mode": "cnpg", "cnpg": {"instances": instances}}}
        config = found.one(build(make(spec), inputs), "ConfigMap", "docs-config")["data"]
        assert config["RAGBASE_LEXICAL"] == lexical


def test_parameters_and_volume(make: Make, inputs: Inputs, found: Found) -> None:
    spec = _cluster(
        make,
        inputs,
        found,
        storage={"size": "20Gi", "storageClassName": "fast"},
        parameters={"jit": "on"},
        cnpg={"postgresqlParameters": {"jit": "off", "shared_preload_libraries": "x"}},
    )
    assert spec["storage"] == {"size": "20Gi", "storageClass": "fast"}
    assert spec["postgresql"]["parameters"]["jit"] == "off"
    assert "shared_preload_libraries" not in spec["postgresql"]["parameters"]
