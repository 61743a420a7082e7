"""What is read from a model's own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.config import read_config
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.families import Prefixes
from ragbase_inference.resolve import resolve


def write(folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_minilm() -> None:
    found = resolve("all-MiniLM-L6-v2")
    config = read_config(found.name, found.folder)
    assert (config.dimension, config.max_tokens, config.pooling) == (384, 256, "mean")
    assert config.prefixes == Prefixes()


@pytest.mark.parametrize(
    ("positions", "sentence", "tokenizer", "model_type", "limit"),
    [
        (512, 256, 512, "bert", 256),
        (512, None, 128, "bert", 128),
        (514, None, None, "roberta", 513),
        (514, 8192, 1e30, "xlm-roberta", 513),
        (24, None, None, "bert", 24),
    ],
)
def test_the_least_limit_holds(
    make_model: Any, positions: int, sentence: Any, tokenizer: Any, model_type: str, limit: int
) -> None:
    folder = make_model(model_type, max_position_embeddings=positions)
    write(folder, "sentence_bert_config.json", {"max_seq_length": sentence})
    write(folder, "tokenizer_config.json", {"model_max_length": tokenizer})
    assert read_config("m", folder).max_tokens == limit


@pytest.mark.parametrize(
    ("written", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode": "max"}, "max"),
        ({"word_embedding_dimension": 32}, "mean"),
    ],
)
def test_pooling(make_model: Any, written: dict[str, Any], pooling: str) -> None:
    folder = make_model()
    write(folder, "1_Pooling/config.json", written)
    assert read_config("m", folder).pooling == pooling


def test_pooling_is_found_where_modules_json_says(make_model: Any) -> None:
    folder = make_model()
    write(folder, "modules.json", [{"type": "sentence_transformers.models.Pooling", "path": "2_P"}])
    write(folder, "2_P/config.json", {"pooling_mode": "cls"})
    assert read_config("m", folder).pooling == "cls"


@pytest.mark.parametrize(
    "written",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode": "attention"},
        {"pooling_mode_mean_tokens": False},
    ],
)
def test_pooling_that_is_unknown_is_refused(make_model: Any, written: dict[str, Any]) -> None:
    folder = make_model()
    write(folder, "1_Pooling/config.json", written)
    with pytest.raises(ModelUnavailableError, match="pools"):
        read_config("m", folder)


def test_a_module_that_would_change_the_vector_is_refused(make_model: Any) -> None:
    folder = make_model()
    write(folder, "modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_D"}])
    with pytest.raises(ModelUnavailableError, match="Dense"):
        read_config("m", folder)


@pytest.mark.parametrize(
    ("name", "written", "prefixes"),
    [
        ("own/model", {"prompts": {"query": "q: ", "document": "d: "}}, Prefixes("q: ", "d: ")),
        ("own/model", {"prompts": {"query": "q: "}}, Prefixes("q: ", "")),
        (
            "own/model",
            {"prompts": {"any": "x: "}, "default_prompt_name": "any"},
            Prefixes("x: ", "x: "),
        ),
        ("own/model", {"prompts": {}}, Prefixes()),
        # what the files say wins over the family; files that say nothing do not
        ("intfloat/e5-small-v2", {"prompts": {"query": "q: "}}, Prefixes("q: ", "")),
        ("intfloat/e5-small-v2", {"prompts": {"query": ""}}, Prefixes("query: ", "passage: ")),
    ],
)
def test_prefixes(make_model: Any, name: str, written: dict[str, Any], prefixes: Prefixes) -> None:
    folder = make_model()
    write(folder, "config_sentence_transformers.json", written)
    assert read_config(name, folder).prefixes == prefixes


@pytest.mark.parametrize("content", ["{", "[]", '{"model_type": "bert"}'])
def test_a_broken_config_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ModelUnavailableError, match=r"config\.json"):
        read_config("m", tmp_path)
