"""POST /embed, /embed_all and /similarity as text-embeddings-inference answers them, on MiniLM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragbase_inference.embedder import TextEmbedder

from .live import Live

LONG = " ".join(["word"] * 600)


def embed(live: Live, inputs: Any, **options: Any) -> np.ndarray[Any, Any]:
    answer = live.post("/embed", {"inputs": inputs, **options})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json(), np.float32)


def refusal(live: Live, path: str, body: Any) -> tuple[int, Any]:
    answer = live.post(path, body)
    kind = answer.headers["content-type"]
    return answer.status_code, answer.json() if kind == "application/json" else answer.text


def test_one_text_gives_a_list_of_one_unit_vector(
    minilm_server: Live, minilm: TextEmbedder
) -> None:
    vectors = embed(minilm_server, "What is deep learning?")
    assert vectors.shape == (1, 384)
    assert np.linalg.norm(vectors) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0, 0] == pytest.approx(-0.0779, abs=2e-3)
    wanted = minilm.embed(minilm.encode_texts(["What is deep learning?"]))
    np.testing.assert_allclose(vectors, wanted, atol=1e-6)


def test_a_list_of_one_is_answered_like_a_text(minilm_server: Live) -> None:
    one = embed(minilm_server, "hello")
    np.testing.assert_array_equal(one, embed(minilm_server, ["hello"]))


def test_vectors_do_not_depend_on_their_batch(minilm_server: Live) -> None:
    texts = ["hello", "What is deep learning?", LONG, "   ", "naïve 世界"]
    together = embed(minilm_server, texts)
    alone = np.concatenate([embed(minilm_server, text) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("text", ["   ", "\n", "\u0000"])
def test_blanks_and_nul_are_texts(minilm_server: Live, text: str) -> None:
    assert embed(minilm_server, text).shape == (1, 384)


@pytest.mark.parametrize("inputs", [[], "", ["a", ""], [[]], ["a", []]])
def test_nothing_to_embed_is_400(minilm_server: Live, inputs: Any) -> None:
    assert refusal(minilm_server, "/embed", {"inputs": inputs}) == (
        400,
        {"error": "Input validation error: `inputs` cannot be empty", "error_type": "Empty"},
    )


def test_too_many_inputs_are_422_and_name_the_limit(minilm_server: Live) -> None:
    assert refusal(minilm_server, "/embed", {"inputs": ["a"] * 33}) == (
        422,
        {"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"},
    )
    assert embed(minilm_server, ["a"] * 32).shape == (32, 384)


@pytest.mark.parametrize("truncate", [None, True])
def test_long_texts_are_cut_unless_told_otherwise(minilm_server: Live, truncate: Any) -> None:
    answer = minilm_server.post("/embed", {"inputs": LONG, "truncate": truncate})
    assert answer.headers["x-compute-tokens"] == "256"
    np.testing.assert_allclose(
        np.array(answer.json()), embed(minilm_server, " ".join(["word"] * 254)), atol=1e-6
    )


def test_the_other_end_is_cut_on_demand(minilm_server: Live) -> None:
    text = "first " + LONG + " last"
    for direction in ("left", "Left"):
        cut = embed(minilm_server, text, truncation_direction=direction)
        kept = embed(minilm_server, " ".join(["word"] * 253) + " last")
        np.testing.assert_allclose(cut, kept, atol=1e-6)


def test_long_texts_are_refused_on_demand(minilm_server: Live) -> None:
    assert refusal(minilm_server, "/embed", {"inputs": LONG, "truncate": False}) == (
        422,
        {
            "error": "Input validation error: `inputs` must have less than 256 tokens. Given: 602",
            "error_type": "Validation",
        },
    )
    exact = " ".join(["word"] * 254)
    assert embed(minilm_server, exact, truncate=False).shape == (1, 384)


def test_very_long_texts_are_refused_by_characters(minilm_server: Live) -> None:
    body = {"inputs": "a" * 65_000, "truncate": False}
    status, error = refusal(minilm_server, "/embed", body)
    assert (status, error["error_type"]) == (422, "Validation")
    assert error["error"].endswith("must have less than 64000 characters. Given: 65000")


def test_raw_vectors_on_demand(minilm_server: Live) -> None:
    raw = embed(minilm_server, "What is deep learning?", normalize=False)
    assert np.linalg.norm(raw) > 2
    unit = raw / np.linalg.norm(raw)
    np.testing.assert_allclose(unit, embed(minilm_server, "What is deep learning?"), atol=1e-6)


def test_fewer_dimensions_are_normalised_anew(minilm_server: Live) -> None:
    whole = embed(minilm_server, "hello")[0]
    cut = embed(minilm_server, "hello", dimensions=128)[0]
    np.testing.assert_allclose(cut, whole[:128] / np.linalg.norm(whole[:128]), atol=1e-6)
    np.testing.assert_array_equal(embed(minilm_server, "hello", dimensions=384)[0], whole)
    np.testing.assert_array_equal(embed(minilm_server, "hello", dimensions=None)[0], whole)


@pytest.mark.parametrize(
    ("dimensions", "text"),
    [
        (0, "`dimensions` should be positive"),
        (385, "`dimensions` should be smaller than the maximum embedding dimension."),
    ],
)
def test_impossible_dimensions_are_422(minilm_server: Live, dimensions: int, text: str) -> None:
    status, error = refusal(minilm_server, "/embed", {"inputs": "a", "dimensions": dimensions})
    assert (status, error["error_type"]) == (422, "Validation")
    assert error["error"].endswith(text)


def test_token_ids_are_taken_as_they_are(minilm_server: Live) -> None:
    hello = embed(minilm_server, "hello")
    np.testing.assert_allclose(embed(minilm_server, [101, 7592, 102]), hello, atol=1e-6)
    np.testing.assert_allclose(
        embed(minilm_server, [[101, 7592, 102], "hello"]), np.repeat(hello, 2, 0), atol=1e-5
    )
    bare = embed(minilm_server, [7592])
    assert float(bare[0] @ hello[0]) < 0.99


@pytest.mark.parametrize("ids", [[99_999], [4_294_967_295], [101, 99_999]])
def test_unknown_token_ids_are_refused_and_the_server_lives(minilm_server: Live, ids: Any) -> None:
    """text-embeddings-inference aborts here."""
    status, error = refusal(minilm_server, "/embed", {"inputs": [ids, "hello"]})
    assert (status, error["error_type"]) == (422, "Validation")
    assert "30522" in error["error"]
    assert minilm_server.get("/health").status_code == 200


def test_too_many_token_ids_are_cut_or_refused(minilm_server: Live) -> None:
    ids = [7592] * 300
    cut = embed(minilm_server, ids)
    np.testing.assert_allclose(cut, embed(minilm_server, ids[:256]), atol=1e-6)
    status, error = refusal(minilm_server, "/embed", {"inputs": ids, "truncate": False})
    assert status == 422
    assert error["error"].endswith("less than 256 tokens. Given: 300")


def test_a_prompt_that_the_model_lacks_is_422(minilm_server: Live) -> None:
    assert refusal(minilm_server, "/embed", {"inputs": "a", "prompt_name": "query"}) == (
        422,
        {
            "error": "`default-prompt-name` is set to `query` but no prompts were found in the "
            "Sentence Transformers configuration",
            "error_type": "Validation",
        },
    )


def test_unknown_fields_are_ignored(minilm_server: Live) -> None:
    assert embed(minilm_server, "a", colour="blue").shape == (1, 384)


def test_embed_all_gives_a_vector_a_token_not_normalised(minilm_server: Live) -> None:
    answer = minilm_server.post("/embed_all", {"inputs": ["hello", "hello world"]}).json()
    assert [len(rows) for rows in answer] == [3, 4]
    rows = np.array(answer[0])
    assert rows.shape == (3, 384)
    assert np.linalg.norm(rows[0]) > 1.5
    mean = rows.mean(axis=0)
    np.testing.assert_allclose(
        mean / np.linalg.norm(mean), embed(minilm_server, "hello")[0], atol=1e-5
    )


def test_similarity_counts_the_source_as_an_input(minilm_server: Live) -> None:
    def body(sentences: list[str]) -> dict[str, Any]:
        return {"inputs": {"source_sentence": "a cat", "sentences": sentences}}

    answer = minilm_server.post("/similarity", body(["a cat", "a kitten", "tax law"]))
    same, near, far = answer.json()
    assert same == pytest.approx(1.0, abs=1e-5)
    assert same > near > far
    assert minilm_server.post("/similarity", body(["a"] * 31)).status_code == 200
    assert minilm_server.post("/similarity", body(["a"] * 32)).status_code == 422
    assert refusal(minilm_server, "/similarity", body([])) == (
        400,
        {"error": "`inputs.sentences` cannot be empty", "error_type": "Empty"},
    )


def test_sparse_vectors_are_not_to_be_had(minilm_server: Live) -> None:
    assert refusal(minilm_server, "/embed_sparse", {"inputs": "a"}) == (
        424,
        {
            "error": "Backend error: Model is not an embedding model with SPLADE pooling",
            "error_type": "Backend",
        },
    )


@pytest.mark.parametrize("path", ["/", "/invocations"])
def test_the_root_does_what_the_model_is_for(minilm_server: Live, path: str) -> None:
    answer = minilm_server.post(path, {"inputs": "hello"})
    vectors = np.array(answer.json(), np.float32)
    np.testing.assert_array_equal(vectors, embed(minilm_server, "hello"))


def test_the_answer_tells_what_it_cost(minilm_server: Live) -> None:
    answer = minilm_server.post("/embed", {"inputs": ["hello", "hello wörld"]})
    headers = answer.headers
    assert headers["x-compute-type"] == "cpu"
    assert headers["x-compute-characters"] == "16"
    assert headers["x-compute-tokens"] == "7"
    for name in ("compute", "total", "tokenization", "queue", "inference"):
        assert headers[f"x-{name}-time"].isdigit()
