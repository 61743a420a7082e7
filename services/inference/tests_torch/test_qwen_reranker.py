"""Qwen3-Reranker against the code of its model card."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer

from ragbase_inference.backends.qwen_template import INSTRUCTION, PREFIX, SUFFIX
from ragbase_inference.errors import ModelUnavailableError, TextTooLongError

from .conftest import Open
from .models import make_qwen
from .texts import LONG, QUERY, TEXTS, texts

POSITIONS = 512


def card(folder: Path, pairs: list[tuple[str, str]], instruction: str) -> NDArray[np.float64]:
    """Scores as Qwen/Qwen3-Reranker-0.6B's model card computes them."""
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    token_false_id = tokenizer.convert_tokens_to_ids("no")
    token_true_id = tokenizer.convert_tokens_to_ids("yes")
    prefix_tokens = tokenizer.encode(PREFIX, add_special_tokens=False)
    suffix_tokens = tokenizer.encode(SUFFIX, add_special_tokens=False)
    prompts = [
        f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {doc}" for query, doc in pairs
    ]
    inputs = tokenizer(
        prompts,
        padding=False,
        truncation="longest_first",
        return_attention_mask=False,
        max_length=POSITIONS - len(prefix_tokens) - len(suffix_tokens),
    )
    for i, element in enumerate(inputs["input_ids"]):
        inputs["input_ids"][i] = prefix_tokens + element + suffix_tokens
    padded = tokenizer.pad(inputs, padding=True, return_tensors="pt")
    with torch.no_grad():
        batch_scores = model(**padded).logits[:, -1, :]
    true_vector = batch_scores[:, token_true_id]
    false_vector = batch_scores[:, token_false_id]
    stacked = torch.stack([false_vector, true_vector], dim=1)
    scores: NDArray[np.float64] = (
        torch.nn.functional.log_softmax(stacked, dim=1)[:, 1].exp().numpy()
    )
    return scores


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    scores: NDArray[np.float32] = 1 / (1 + np.exp(-logits))
    return scores


@pytest.mark.parametrize("tied", [True, False])
def test_scores_are_those_of_the_model_card(
    tied: bool, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_qwen, tied=tied)
    model = opened(folder)
    pairs = [(query, text) for query in (QUERY, "why?", "two\nlines", "") for text in TEXTS]
    found = model.logits(model.encode_pairs(pairs, cut="right"))
    assert found.shape == (len(pairs), 1)
    assert (model.facts.kind, model.facts.max_tokens) == ("reranker", POSITIONS)
    np.testing.assert_allclose(sigmoid(found[:, 0]), card(folder, pairs, INSTRUCTION), atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 7, 200])
def test_scores_and_order_do_not_depend_on_the_batch(
    size: int, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_qwen)
    model = opened(folder)
    pairs = [(QUERY, text) for text in texts(size, seed=size)]
    encoded = model.encode_pairs(pairs, cut="right")
    together = sigmoid(model.logits(encoded)[:, 0])
    alone = sigmoid(np.array([model.logits([one])[0, 0] for one in encoded[-7:]]))
    np.testing.assert_allclose(together[-7:], alone, atol=1e-4)
    expected = card(folder, pairs, INSTRUCTION)
    np.testing.assert_allclose(together, expected, atol=1e-4)
    assert np.array_equal(np.argsort(-together), np.argsort(-expected))


def test_the_instruction_can_be_set(models: Callable[..., Path], opened: Open) -> None:
    folder = models(make_qwen)
    asked = "Find the statute that the question is about"
    model, default = opened(folder, instruction=asked), opened(folder)
    pairs = [(QUERY, text) for text in TEXTS]
    found = sigmoid(model.logits(model.encode_pairs(pairs, cut="right"))[:, 0])
    np.testing.assert_allclose(found, card(folder, pairs, asked), atol=1e-4)
    other = sigmoid(default.logits(default.encode_pairs(pairs, cut="right"))[:, 0])
    assert np.abs(found - other).max() > 1e-3


def test_the_document_alone_is_cut(models: Callable[..., Path], opened: Open) -> None:
    model = opened(models(make_qwen))
    count = model.tokenizer.encode
    prefix, suffix, head = (
        one.ids
        for one in count(
            [PREFIX, SUFFIX, f"<Instruct>: {INSTRUCTION}\n<Query>: {QUERY}\n<Document>:"],
            10_000,
            special=False,
        )
    )
    document = count([f" {LONG}"], 100_000, special=False)[0].ids
    room = POSITIONS - len(prefix) - len(head) - len(suffix)
    (right,), (left,) = (model.encode_pairs([(QUERY, LONG)], cut=cut) for cut in ("right", "left"))
    assert right.ids == [*prefix, *head, *document[:room], *suffix]
    assert left.ids == [*prefix, *head, *document[-room:], *suffix]
    assert right.cut
    with pytest.raises(TextTooLongError) as caught:
        model.encode_pairs([(QUERY, "short"), (QUERY, LONG)], cut=None)
    assert caught.value.index == 1
    assert caught.value.tokens == len(prefix) + len(head) + len(document) + len(suffix)


def test_a_query_without_end_leaves_room_for_the_document(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_qwen))
    (encoded,) = model.encode_pairs([(LONG, "the last word")], cut="right")
    assert encoded.cut
    assert len(encoded) <= POSITIONS
    text = model.tokenizer.decode(encoded.ids, skip_special=False)
    assert text.startswith(PREFIX)
    assert text.endswith(f"<Document>: the last word{SUFFIX}")


def test_a_lone_text_is_the_document_of_no_query(models: Callable[..., Path], opened: Open) -> None:
    model = opened(models(make_qwen))
    lone, pair = (
        model.encode_pairs([given], cut="right")[0].ids for given in (("text", None), ("", "text"))
    )
    assert lone == pair


def test_an_instruction_that_fills_the_model_is_refused(
    models: Callable[..., Path], opened: Open
) -> None:
    with pytest.raises(ModelUnavailableError, match="instruction"):
        opened(models(make_qwen), instruction=LONG)


def test_a_folder_that_sentence_transformers_wrote_is_the_same_reranker(
    tmp_path: Path, models: Callable[..., Path], opened: Open
) -> None:
    """Its cross-encoders describe their modules, as embedding models do."""
    from sentence_transformers import CrossEncoder

    folder = models(make_qwen)
    CrossEncoder(str(folder), device="cpu", local_files_only=True).save_pretrained(str(tmp_path))
    assert (tmp_path / "modules.json").is_file()
    model, other = opened(tmp_path, backend="auto"), opened(folder)
    encoded = other.encode_pairs([(QUERY, text) for text in TEXTS], cut="right")
    np.testing.assert_allclose(model.logits(encoded), other.logits(encoded), atol=1e-4)
