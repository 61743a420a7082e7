"""Clients that were written for text-embeddings-inference and its like work unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from huggingface_hub import AsyncInferenceClient, InferenceClient, close_session
from huggingface_hub.errors import HfHubHTTPError

from ragbase_inference.embedder import TextEmbedder

from .conftest import Serve
from .live import Live


@pytest.fixture(autouse=True)
def closed_session() -> Iterator[None]:
    """All clients share one pool of connections."""
    yield
    close_session()


def test_hugging_faces_client_embeds(minilm_server: Live, minilm: TextEmbedder) -> None:
    for url in (minilm_server.url, minilm_server.url + "/embed"):
        client = InferenceClient(model=url)
        texts = ["hello", "What is deep learning?"]
        vectors = client.feature_extraction(texts, normalize=True, truncate=True)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, minilm.embed(minilm.encode_texts(texts)), atol=1e-5)
        cut = client.feature_extraction("hello", truncation_direction="left", dimensions=8)
        assert cut.shape == (1, 8)


async def test_hugging_faces_async_client_embeds_on_a_named_model(minilm_server: Live) -> None:
    async with AsyncInferenceClient(model=minilm_server.url + "/models/default") as client:
        assert (await client.feature_extraction("hello")).shape == (1, 384)


def test_hugging_faces_client_compares_sentences(minilm_server: Live) -> None:
    client = InferenceClient(model=minilm_server.url + "/similarity")
    near, far = client.sentence_similarity("a cat", other_sentences=["a kitten", "tax law"])
    assert near > far


def test_hugging_faces_client_shows_our_errors(minilm_server: Live) -> None:
    client = InferenceClient(model=minilm_server.url + "/embed")
    with pytest.raises(HfHubHTTPError, match="422"):
        client.feature_extraction("word " * 600, truncate=False)


def test_hugging_faces_client_sends_its_token_as_the_key(serve: Serve) -> None:
    live = serve(api_key="hf_secret")
    assert InferenceClient(model=live.url, token="hf_secret").feature_extraction("a").shape[0] == 1
    with pytest.raises(HfHubHTTPError, match="401"):
        InferenceClient(model=live.url, token="hf_other").feature_extraction("a")
