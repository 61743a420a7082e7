"""Where Neo4j and Memgraph differ: everything else is written once, in what both understand.

| | Neo4j 5 | Memgraph 3 |
|---|---|---|
| told by | its agent, ``Neo4j/…`` | ``Neo4j/… compatible graph database server - Memgraph`` |
| index and constraint | ``FOR (n:L) ON …``, ``REQUIRE``, ``IF NOT EXISTS`` | ``ON :L(p)``, ``ASSERT``; repeated: no error |
| both in | a transaction of their own, either way (auto-commit) | auto-commit only |
| communities | none in the Community edition | MAGE ``community_detection.get`` |
| shortest path | ``shortestPath((a)-[*]-(b))`` | ``(a)-[*BFS]-(b)`` |

Sources: Neo4j Cypher Manual 5, "Constraints", "Indexes"; Memgraph documentation, "Indexes",
"Constraints" (schema changes are auto-commit), "Deep path traversal", "MAGE community_detection",
"Project" (graphs out of paths), and its Bolt server's greeting ("Differences in Cypher").

Neither's shortest path is used: which of several it gives is not fixed, so the two stores would not
agree. `ragbase.graph.walks` goes level by level in statements that both understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["MEMGRAPH", "NEO4J", "Dialect", "dialect_of"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Statements of one server; ``communities`` is None where the server has no such algorithm.

    ``prepare`` is run one by one in auto-commit, and may be run again.
    """

    name: Literal["neo4j", "memgraph"]
    prepare: tuple[str, ...]
    communities: dict[str, str] | None


_NAMES = {"base": "entity_id", "Concept": "name"}
"""Label → the property that outside tools look nodes up by."""

NEO4J: Final = Dialect(
    name="neo4j",
    prepare=(
        *(
            f"CREATE CONSTRAINT ragbase_id_{label.lower()} IF NOT EXISTS "
            f"FOR (n:{label}) REQUIRE n.ragbase_id IS UNIQUE"
            for label in _NAMES
        ),
        *(
            f"CREATE INDEX ragbase_{label.lower()}_{name} IF NOT EXISTS "
            f"FOR (n:{label}) ON (n.{name})"
            for label, name in _NAMES.items()
        ),
        "CALL db.awaitIndexes(60)",
    ),
    communities=None,
)

# Paths of the wanted nodes make the graph that is looked at; nodes without relations are in none.
_COMMUNITIES = """
    MATCH p = (a:{label})-[:{relation}]->(b:{label})
    WHERE a.collection_id IN $collections AND b.collection_id IN $collections
    WITH project(p) AS graph
    CALL community_detection.get(graph) YIELD node, community_id
    RETURN node.ragbase_id AS id, community_id AS community
"""

MEMGRAPH: Final = Dialect(
    name="memgraph",
    prepare=(
        *(f"CREATE INDEX ON :{label}" for label in _NAMES),
        *(f"CREATE INDEX ON :{label}(ragbase_id)" for label in _NAMES),
        *(f"CREATE INDEX ON :{label}({name})" for label, name in _NAMES.items()),
        *(f"CREATE CONSTRAINT ON (n:{label}) ASSERT n.ragbase_id IS UNIQUE" for label in _NAMES),
    ),
    communities={
        "entity": _COMMUNITIES.format(label="base", relation="DIRECTED"),
        "concept": _COMMUNITIES.format(label="Concept", relation="RELATED"),
    },
)


def dialect_of(agent: str) -> Dialect:
    """By what the server calls itself; Memgraph's greeting names Neo4j as well."""
    return MEMGRAPH if "memgraph" in agent.lower() else NEO4J
