"""Search over HTTP: the contract's behaviour (§5, §18) with real arms."""

from __future__ import annotations

import httpx
import pytest

from .conftest import Create

PATHS = ("/v1/search", "/v1/search/semantic", "/v1/search/keyword")
ROW_FIELDS = {"chunk_id", "document_id", "document_title", "content", "score", "sources"}


async def test_hybrid_names_both_arms_and_tags_the_row_with_both(
    api: httpx.AsyncClient, create: Create
) -> None:
    target = await create("Harbour", "Ships moor at the north quay.")
    await create("Kitchen", "Bake the bread for an hour.")
    body = (await api.post("/v1/search", json={"query": "north quay ships"})).json()
    assert body["query"] == "north quay ships"
    assert body["retrievers_used"] == ["semantic", "keyword"]
    first = body["results"][0]
    assert first.keys() >= ROW_FIELDS
    assert first["document_id"] == target["id"]
    assert first["sources"] == ["semantic", "keyword"]
    assert body["total"] == len(body["results"])
    assert body["score_kind"] == "rrf"
    assert (body["degraded"], body["warnings"], body["reranker_used"]) == (False, [], None)
    assert body["timings_ms"]["total"] > 0


async def test_single_arm_routes_always_name_their_arm(api: httpx.AsyncClient) -> None:
    for arm in ("semantic", "keyword"):
        body = (await api.post(f"/v1/search/{arm}", json={"query": "nothing here"})).json()
        assert (body["results"], body["retrievers_used"]) == ([], [arm])


async def test_unknown_fields_are_ignored_and_numbers_in_strings_taken(
    api: httpx.AsyncClient,
) -> None:
    body = {"query": "x", "top_k": "3", "unheard_of": {"a": 1}}
    assert (await api.post("/v1/search", json=body)).status_code == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"query": ""},
        {"top_k": 0},
        {"top_k": 101},
        {"top_k": None},
        {"rerank_candidates": 201},
        {"min_score": 1.1},
        {"rerank_model": "no-such-model"},
        {"candidates": 1001},
        {"offset": 190, "top_k": 20},
        {"collection": "default", "collections": ["default"]},
        {"fusion": {"method": "magic"}},
        {"filter": {"a": {"like": "b"}}},
        {"query": "a\x00b"},
    ],
)
async def test_out_of_range_fields_are_422(
    api: httpx.AsyncClient, fields: dict[str, object]
) -> None:
    answer = await api.post("/v1/search", json={"query": "x", **fields})
    assert answer.status_code == 422
    assert answer.json()["code"]


async def test_naming_a_reranker_or_graph_that_is_absent_warns_without_degrading(
    api: httpx.AsyncClient, create: Create
) -> None:
    await create("T", "herrings")
    silent = (await api.post("/v1/search", json={"query": "herrings"})).json()
    assert silent["warnings"] == []
    asked = {"query": "herrings", "rerank": True, "include_graph": True}
    body = (await api.post("/v1/search", json=asked)).json()
    codes = {warning["code"] for warning in body["warnings"]}
    assert codes == {"rerank_unavailable", "graph_unavailable"}
    assert (body["degraded"], body["reranker_used"]) == (False, None)


async def test_a_word_only_in_the_breadcrumb_is_found_by_keyword(
    api: httpx.AsyncClient, create: Create
) -> None:
    filler = "Take the boat out and bring it back. " * 30
    text = f"# Zephyrology\n\n{filler}\n\n## Second\n\n{filler}\n\n{filler}"
    made = await create("T", text)
    assert made["chunk_count"] > 1
    found = (await api.post("/v1/search/keyword", json={"query": "zephyrology"})).json()
    assert found["total"] == made["chunk_count"]


@pytest.mark.parametrize("field", ["title", "metadata"])
async def test_the_same_text_under_two_headers_ranks_by_header(
    api: httpx.AsyncClient, create: Create, field: str
) -> None:
    text = "The device must be cleaned every week and checked for wear."
    if field == "title":
        await create("Coffee machine manual", text)
        target = await create("Aircraft engine manual", text)
    else:
        await create("Manual", text, metadata={"device": "coffee machine"})
        target = await create("Manual", text, metadata={"device": "aircraft engine"})
    body = {"query": "cleaning an aircraft engine"}
    rows = (await api.post("/v1/search/semantic", json=body)).json()["results"]
    assert rows[0]["document_id"] == target["id"]


async def test_min_score_cuts_cosine_only(api: httpx.AsyncClient, create: Create) -> None:
    """B049: a threshold for one scale never empties another."""
    await create("T", "herrings swim in the sea")
    await create("U", "tax law reform")
    body = {"query": "herrings", "min_score": 0.95}
    assert (await api.post("/v1/search/semantic", json=body)).json()["results"] == []
    assert (await api.post("/v1/search/keyword", json=body)).json()["total"] == 1
    assert (await api.post("/v1/search", json=body)).json()["total"] == 1


async def test_the_same_query_twice_gives_the_same_rows(
    api: httpx.AsyncClient, create: Create
) -> None:
    for n in range(30):
        await create("Same", "equal text for all of these", metadata={"n": n})
    for path in PATHS:
        body = {"query": "equal text", "top_k": 30}
        runs = [(await api.post(path, json=body)).json()["results"] for _ in range(2)]
        assert runs[0] == runs[1]


async def test_pages_continue_each_other(api: httpx.AsyncClient, create: Create) -> None:
    """B047."""
    for n in range(24):
        await create(f"Note {n}", f"herrings number {n} " + "swim " * (n % 5))
    for path in PATHS:
        whole = (await api.post(path, json={"query": "herrings swim", "top_k": 20})).json()
        ids = [row["chunk_id"] for row in whole["results"]]
        paged: list[int] = []
        for offset in range(0, 20, 5):
            body = {"query": "herrings swim", "top_k": 5, "offset": offset}
            rows = (await api.post(path, json=body)).json()["results"]
            paged += [row["chunk_id"] for row in rows]
        assert paged == ids


async def test_filters_act_in_every_arm(api: httpx.AsyncClient, create: Create) -> None:
    """B041, B043, B045."""
    kept = await create("A", "herrings", metadata={"version": "1.10", "country": "Chad"})
    await create("B", "herrings", metadata={"version": 1.1, "country": "Japan"})
    await create("C", "herrings", metadata={"version": "1.1", "country": ["Chad"]})
    for path in PATHS:

        async def ids(condition: object, path: str = path) -> set[str]:
            body = {"query": "herrings", "filter": condition}
            rows = (await api.post(path, json=body)).json()["results"]
            return {row["document_title"] for row in rows}

        assert await ids({"version": "1.10"}) == {"A"}
        assert await ids({"country": {"in": ["Chad", "Japan"]}}) == {"A", "B", "C"}
        assert await ids({"country": {"in": []}}) == set()
        assert await ids({}) == {"A", "B", "C"}
        assert await ids({"@id": kept["id"]}) == {"A"}
        assert await ids({"not": {"country": "Chad"}}) == {"B"}


HOSTILE = [
    "C++", "a + b", "(1)23", "[x", "{y", "^z", "~q", "a/b", "<tag", "a.bcd", "trailing \\",
    "john AND -doe", "NOT", "AND OR", "-word", "re-entry", "state-of-the-art", "the who",
    "to be or not to be", "it", "Robert'); DROP TABLE documents; --", "100%", "_", "$$x$$",
    "\\'", "🐟", "x", "' OR 1=1 --", '{"a": 1}', "a:b*c?d",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
async def test_operators_and_quotes_are_plain_words(
    api: httpx.AsyncClient, create: Create, query: str
) -> None:
    """B031, B033, B035, B037."""
    made = await create("T", f"first words {query} last words")
    for path in PATHS:
        answer = await api.post(path, json={"query": query})
        assert answer.status_code == 200
        if path != "/v1/search/keyword":
            assert answer.json()["results"][0]["document_id"] == made["id"]
    assert (await api.get("/v1/documents")).headers["x-total-count"] == "1"


@pytest.mark.parametrize(
    "query", ["C++", "(1)23", "a.bcd", "re-entry", "state-of-the-art", "to be or not to be"]
)
async def test_literal_terms_are_found_by_keyword(
    api: httpx.AsyncClient, create: Create, query: str
) -> None:
    """B031, B033, B035."""
    made = await create("T", f"first words {query} last words")
    await create("U", "quite another thing")
    body = (await api.post("/v1/search/keyword", json={"query": query})).json()
    assert [row["document_id"] for row in body["results"]] == [made["id"]]


async def test_keyword_search_reads_chinese_japanese_and_thai(
    api: httpx.AsyncClient, create: Create
) -> None:
    """B009."""
    texts = {"战国无双": "《战国无双3》是由光荣开发的正统续作。",
             "開発": "このゲームはコーエーが開発した。",
             "ประเทศไทย": "กรุงเทพเป็นเมืองหลวงของประเทศไทย"}  # fmt: skip
    ids = {query: (await create("T", text))["id"] for query, text in texts.items()}
    for query, document in ids.items():
        body = (await api.post("/v1/search/keyword", json={"query": query})).json()
        assert body["results"], query
        assert body["results"][0]["document_id"] == document


async def test_highlights_point_into_the_content(api: httpx.AsyncClient, create: Create) -> None:
    await create("T", "🐟 Herrings swim; a herring sings.")
    (row,) = (await api.post("/v1/search/keyword", json={"query": "herring"})).json()["results"]
    marked = [row["content"][span["start"] : span["end"]] for span in row["highlights"]]
    assert marked == ["Herrings", "herring"]


async def test_explain_gives_rank_and_score_of_each_arm(
    api: httpx.AsyncClient, create: Create
) -> None:
    await create("T", "herrings swim")
    await create("U", "herrings sing")
    body = (await api.post("/v1/search", json={"query": "swim", "explain": True})).json()
    first = body["results"][0]["explain"]
    assert first["keyword"]["rank"] == first["semantic"]["rank"] == first["fused"]["rank"] == 1
    assert first["fused"]["score"] == pytest.approx(2 / 61)


async def test_group_by_document_gives_one_row_a_document(
    api: httpx.AsyncClient, create: Create
) -> None:
    await create("Long", "Herrings swim in the cold sea at night. " * 120)
    await create("Short", "A herring.")
    body = {"query": "herring", "group_by": "document"}
    rows = (await api.post("/v1/search", json=body)).json()["results"]
    assert len(rows) == len({row["document_id"] for row in rows}) == 2


async def test_embed_passes_texts_through(api: httpx.AsyncClient) -> None:
    body = (await api.post("/v1/embed", json={"inputs": ["one", "two", ""]})).json()
    assert body["dimensions"] == 384
    assert [len(vector) for vector in body["embeddings"]] == [384] * 3
    assert "MiniLM" in body["model"]
    assert (await api.post("/v1/embed", json={"inputs": "bare"})).status_code == 422
    assert (await api.post("/v1/embed", json={"inputs": []})).status_code == 422
