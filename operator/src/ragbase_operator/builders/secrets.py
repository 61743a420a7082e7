"""Generated Secrets: what is there is kept, what is missing is made from fresh randomness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from ragbase_operator.builders import names
from ragbase_operator.builders.components import (
    DATABASE,
    MEMGRAPH,
    POSTGRES_PORT,
    STACK,
    api_url,
    cluster_name,
    host,
    localrag_url,
)
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.objects import secret_object
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["DATABASE_NAME", "LOCALRAG_URL", "MEMGRAPH_INIT", "api_key", "generated", "secrets"]

DATABASE_NAME: Final = "ragbase"
"""Of the database and of its owner."""
MEMGRAPH_INIT: Final = "init.cypherl"
"""Key with the statement that makes Memgraph take a changed password at its next start."""
LOCALRAG_URL: Final = "localragUrl"
"""Key with where clients find the second API."""
_BASIC_AUTH: Final = "kubernetes.io/basic-auth"


def api_key(seed: str) -> str:
    """An API key ``rb_<id>_<secret>`` from 64 random hexadecimal signs.

    The id is public, so it is a hash that tells nothing of the secret.
    """
    return f"rb_{names.digest(f'id of {seed}', 12)}_{seed}"


def generated(ragbase: RagBase, inputs: Inputs) -> dict[str, dict[str, str]]:
    """The generated Secrets by name, each with its values in clear text.

    A value that exists is kept; a Secret or key that was deleted is made anew: that is rotation.
    What is derived (URLs, statements) follows the values it is derived from.
    """
    found: dict[str, dict[str, str]] = {}
    spec = ragbase.spec
    if spec.database.mode != "external":
        found[names.database_secret(ragbase.name)] = _database(ragbase, inputs)
    if spec.graph.projected:
        found[names.memgraph_secret(ragbase.name)] = _memgraph(ragbase, inputs)
    if spec.api.auth.enabled and spec.api.auth.existing_secret is None:
        found[names.api_key_secret(ragbase.name)] = _api_keys(ragbase, inputs)
    found[names.client_secret(ragbase.name)] = _client(ragbase, inputs)
    return found


def secrets(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """The generated Secrets."""
    component = {
        names.database_secret(ragbase.name): DATABASE,
        names.memgraph_secret(ragbase.name): MEMGRAPH,
    }
    with_login = set(component)
    return [
        secret_object(
            ragbase,
            name,
            component.get(name, STACK),
            values,
            _BASIC_AUTH if name in with_login else "Opaque",
        )
        for name, values in generated(ragbase, inputs).items()
    ]


def _database(ragbase: RagBase, inputs: Inputs) -> dict[str, str]:
    there = _there(inputs, names.database_secret(ragbase.name))
    username = there.get("username") or DATABASE_NAME
    password = there.get("password") or inputs.fresh["database"]
    here = ragbase.spec.database.mode == "managed"
    server = host(ragbase, DATABASE) if here else f"{cluster_name(ragbase)}-rw"
    login = f"{quote(username, safe='')}:{quote(password, safe='')}"
    uri = f"postgresql://{login}@{server}:{POSTGRES_PORT}/{DATABASE_NAME}"
    return {"uri": uri, "username": username, "password": password}


def _memgraph(ragbase: RagBase, inputs: Inputs) -> dict[str, str]:
    there = _there(inputs, names.memgraph_secret(ragbase.name))
    username = there.get("username") or DATABASE_NAME
    password = there.get("password") or inputs.fresh["memgraph"]
    quoted = password.replace("\\", "\\\\").replace("'", "\\'")
    statement = f"SET PASSWORD FOR `{username.replace('`', '``')}` TO '{quoted}';\n"
    return {"username": username, "password": password, MEMGRAPH_INIT: statement}


def _api_keys(ragbase: RagBase, inputs: Inputs) -> dict[str, str]:
    there = _there(inputs, names.api_key_secret(ragbase.name))
    return {
        purpose: there.get(purpose) or api_key(inputs.fresh[purpose])
        for purpose in ("admin", "probe")
    }


def _client(ragbase: RagBase, inputs: Inputs) -> dict[str, str]:
    found = {"url": api_url(ragbase)}
    if ragbase.spec.localrag.enabled:
        found[LOCALRAG_URL] = localrag_url(ragbase)
    if ragbase.spec.api.auth.enabled:
        there = _there(inputs, names.client_secret(ragbase.name))
        found["apiKey"] = there.get("apiKey") or api_key(inputs.fresh["client"])
    return found


def _there(inputs: Inputs, name: str) -> Mapping[str, str]:
    return inputs.secrets.get(name, {})
