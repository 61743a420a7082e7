"""Names in a query → entities: exact, alias, likeness; isolation; what models found."""

from __future__ import annotations

import pytest

from ragbase.graph.linking import Phrase, link, words_of
from ragbase.graph.links import Linked
from ragbase.models.domain import Collection
from ragbase.storage.pool import Connection

from ..graph_rows import add_document, collection, entity_ids


async def linked(
    connection: Connection, query: str, *collections: str, **options: object
) -> Linked:
    found: list[Collection] = [
        await collection(connection, name) for name in collections or ("default",)
    ]
    ids = [one.id for one in found]
    return await link(connection, ids, words_of(query, found), **options)  # type: ignore[arg-type]


def summary(found: Linked) -> list[tuple[str, str, str]]:
    return [(one.phrase, one.entity.name, one.entity.method) for one in found.links]


async def test_the_longest_name_wins(connection: Connection) -> None:
    await add_document(connection, ("x", ["Acme", "Acme Corp", "Acme Corp Berlin"], []))
    assert summary(await linked(connection, "Who runs Acme Corp in Paris?")) == [
        ("acme corp", "Acme Corp", "exact_ci")
    ]


async def test_spelling_case_and_possessive_do_not_matter(connection: Connection) -> None:
    await add_document(connection, ("x", ["The ACME Café"], []))
    for query in ("where is acme café", "Where is the Acme Cafe\u0301's office?"):
        assert summary(await linked(connection, query)) == [
            ("acme café", "The ACME Café", "exact_ci")
        ]


async def test_an_alias_names_its_entity(connection: Connection) -> None:
    await add_document(connection, ("x", ["International Business Machines"], []))
    ids = await entity_ids(connection)
    await connection.execute(
        "INSERT INTO entity_aliases (collection_id, normal_alias, entity_id) VALUES (1, 'big blue', $1)",
        ids["international business machines"],
    )
    assert summary(await linked(connection, "Who founded Big Blue?")) == [
        ("big blue", "International Business Machines", "alias")
    ]


@pytest.mark.parametrize(
    ("query", "name", "method"),
    [
        ("Who composed Aschenbrodel long ago?", "Aschenbrödel", "fuzzy_trigram"),
        ("Who sang Hello Love first?", "Hello Love: song", "fuzzy_contains"),
    ],
)
async def test_a_name_that_is_not_there_is_looked_up_by_likeness(
    connection: Connection, query: str, name: str, method: str
) -> None:
    """R55: through the index, closest first."""
    await add_document(connection, ("x", ["Aschenbrödel", "Hello Love: song", "Other"], []))
    found = await linked(connection, query)
    assert [(one.entity.name, one.entity.method) for one in found.links] == [(name, method)]
    assert 0.0 < found.links[0].weight < 1.0
    assert summary(await linked(connection, query, fuzzy=False)) == []


async def test_one_letter_matches_nothing(connection: Connection) -> None:
    """R55: in the original it matched eight arbitrary entities."""
    await add_document(connection, ("x", ["Aachen", "Abba", "A"], []))
    for query in ("a", "A", "What is A or X here?"):
        assert summary(await linked(connection, query)) == []


async def test_percent_and_underscore_are_letters(connection: Connection) -> None:
    await add_document(connection, ("x", ["Some Long Name"], []))
    assert summary(await linked(connection, "Who is %%%% and S___ L___ today?")) == []


async def test_likeness_finds_the_closest_first_in_a_fixed_order(connection: Connection) -> None:
    names = [f"Mount {end}" for end in ("Everest Range", "Everest", "Everest Base Camp", "Everett")]
    await add_document(connection, ("x", names, []))
    found = await linked(connection, "How high is Evrest Mount really?", alike=8)
    assert [one.entity.name for one in found.links][:1] == ["Mount Everest"]
    weights = [one.weight for one in found.links]
    assert weights == sorted(weights, reverse=True)


async def test_other_collections_are_not_seen(connection: Connection) -> None:
    other = await collection(connection, "other")
    await add_document(connection, ("x", ["Secret Lab"], []), collection_id=other.id)
    assert summary(await linked(connection, "Where is the Secret Lab now?")) == []
    assert summary(await linked(connection, "Where is the Sekret Lab now?")) == []
    assert (
        len((await linked(connection, "Where is the Secret Lab now?", "default", "other")).links)
        == 1
    )


async def test_names_of_scripts_without_spaces_are_found_inside_a_run(
    connection: Connection,
) -> None:
    chinese = await collection(connection, "zh", language="chinese")
    await add_document(connection, ("x", ["汉武帝", "张骞"], []), collection_id=chinese.id)
    found = await linked(connection, "汉武帝派张骞去了哪里", "zh")
    assert sorted(one.entity.name for one in found.links) == ["张骞", "汉武帝"]
    assert found.coverage(dict.fromkeys(found.seeds(), 1.0)) == pytest.approx(5 / 10)


async def test_phrases_of_a_model_count_as_surely_as_it_says(connection: Connection) -> None:
    await add_document(connection, ("x", ["acme", "Berlin"], []))
    found = await linked(
        connection, "did acme move to berlin", phrases=[Phrase("acme", 0.6), Phrase("Nowhere", 0.9)]
    )
    assert {one.phrase: one.score for one in found.links} == {"berlin": 1.0, "acme": 0.6}
    assert found.links[0].phrase == "berlin"


async def test_coverage_counts_words_that_say_something(connection: Connection) -> None:
    await add_document(connection, ("x", ["Acme Corp"], []))
    found = await linked(connection, "Who is the founder of Acme Corp?")
    acme = next(iter(found.seeds()))
    assert found.words == 3  # founder, acme, corp
    assert found.coverage({acme: 1.0}) == pytest.approx(2 / 3)
    assert found.coverage({acme: 0.5}) == pytest.approx(1 / 3)
    assert found.coverage({}) == 0.0


async def test_the_number_of_phrases_is_bounded(connection: Connection) -> None:
    names = [f"Name{letter}" for letter in "abcdefgh"]
    await add_document(connection, ("x", names, []))
    found = await linked(connection, " and ".join(names), max_phrases=3)
    assert found.phrases == 3
