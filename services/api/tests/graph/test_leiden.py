"""Communities of small graphs whose communities are known."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ragbase.graph.leiden import ISOLATED, numbered, partition


def clique(nodes: range) -> list[tuple[int, int, float]]:
    return [(a, b, 1.0) for a, b in combinations(nodes, 2)]


def groups(found: dict[int, int]) -> set[frozenset[int]]:
    return {
        frozenset(node for node in found if found[node] == each) for each in set(found.values())
    }


def test_cliques_on_a_bridge_are_communities() -> None:
    edges = [*clique(range(1, 7)), *clique(range(11, 16)), (6, 11, 1.0)]
    assert groups(partition(edges)) == {frozenset(range(1, 7)), frozenset(range(11, 16))}


def test_weights_decide() -> None:
    """A square of which two opposite sides count ten times falls into those two."""
    edges = [(1, 2, 10.0), (3, 4, 10.0), (2, 3, 1.0), (1, 4, 1.0)]
    assert groups(partition(edges)) == {frozenset([1, 2]), frozenset([3, 4])}
    turned = [(1, 2, 1.0), (3, 4, 1.0), (2, 3, 10.0), (1, 4, 10.0)]
    assert groups(partition(turned)) == {frozenset([2, 3]), frozenset([1, 4])}


def test_a_graph_without_edges_has_none() -> None:
    assert partition([]) == {}


@given(
    st.sets(st.tuples(st.integers(1, 30), st.integers(1, 30)).filter(lambda e: e[0] < e[1])).map(
        sorted
    )
)
def test_communities_hold_connected_nodes_only(pairs: list[tuple[int, int]]) -> None:
    """Every touched node is in one, and within each a way leads from any node to any other."""
    found = partition([(a, b, 1.0) for a, b in pairs])
    assert found.keys() == {node for pair in pairs for node in pair}
    for group in groups(found):
        reached = {min(group)}
        while more := {
            node
            for pair in pairs
            for node in pair
            if group.issuperset(pair) and reached & set(pair) and node not in reached
        }:
            reached |= more
        assert reached == group


SCRIPT = """
import random
from ragbase.graph.leiden import partition
random.seed(5)
edges = [(random.randrange(300), random.randrange(300), 1.0) for _ in range(1500)]
print(sorted(partition([e for e in edges if e[0] != e[1]]).items()))
"""


def test_every_process_finds_the_same() -> None:
    first, second = (
        subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True).stdout
        for _ in range(2)
    )
    assert first == second
    assert len(first) > 1000


def test_numbers_go_by_size_then_by_the_least_node() -> None:
    communities = {1: "b", 2: "a", 3: "a", 4: "c", 5: "c", 6: "b", 7: "b", 99: "gone"}
    assert numbered(communities, [8, 7, 6, 5, 4, 3, 2, 1]) == {
        1: 0, 6: 0, 7: 0, 2: 1, 3: 1, 4: 2, 5: 2, 8: ISOLATED,
    }  # fmt: skip
