"""Shared by all tests of the inference package: a cache of their own, small random models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from ragbase_inference.embedder import TextEmbedder, open_embedder

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
"""How long an example takes says more of the machine's load than of the code."""

Arrays = dict[str, NDArray[np.float32]]
MakeModel = Callable[..., Path]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", "##s", "the", "cat"]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The model cache of this test run; the user's own is left alone."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def minilm() -> TextEmbedder:
    """MiniLM as the product runs it by default."""
    return open_embedder("sentence-transformers/all-MiniLM-L6-v2", threads=2)


def random_weights(
    names: Mapping[str, tuple[int, ...]], seed: int = 0, spread: float = 0.3
) -> Arrays:
    """Random tensors; layer norms around one, so that activations stay in range."""
    random = np.random.default_rng(seed)
    made: Arrays = {}
    for name, shape in names.items():
        centre = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
        made[name] = random.normal(centre, spread, shape).astype(np.float32)
    return made


def encoder_tensors(
    model_type: str, width: int = 32, layers: int = 2
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a small checkpoint, as the authors' libraries write them."""
    distil = model_type == "distilbert"
    norm = {"weight": (width,), "bias": (width,)}

    def dense(out: int, into: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (out, into), "bias": (out,)}

    parts: dict[str, Mapping[str, tuple[int, ...]]] = {
        "embeddings.word_embeddings": {"weight": (len(WORDS), width)},
        "embeddings.position_embeddings": {"weight": (24, width)},
        "embeddings.LayerNorm": norm,
    }
    if not distil:
        types = 2 if model_type == "bert" else 1
        parts["embeddings.token_type_embeddings"] = {"weight": (types, width)}
    for number in range(layers):
        p = f"{'transformer' if distil else 'encoder'}.layer.{number}."
        attention = "attention.{}_lin" if distil else "attention.self.{}"
        for kind in ("q", "k", "v") if distil else ("query", "key", "value"):
            parts[p + attention.format(kind)] = dense(width, width)
        out, attention_norm, widen, narrow, last = (
            ("attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")
            if distil
            else (
                "attention.output.dense",
                "attention.output.LayerNorm",
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm",
            )
        )
        parts[p + out] = dense(width, width)
        parts[p + attention_norm] = norm
        parts[p + widen] = dense(4 * width, width)
        parts[p + narrow] = dense(width, 4 * width)
        parts[p + last] = norm
    return {f"{part}.{leaf}": s for part, leaves in parts.items() for leaf, s in leaves.items()}


def head_tensors(
    model_type: str, labels: int, prefix: str, width: int = 32
) -> dict[str, tuple[int, ...]]:
    """The same of a sequence-classification head; BERT keeps a part of it inside the encoder."""
    inner, outer = {
        "bert": (f"{prefix}pooler.dense", "classifier"),
        "distilbert": ("pre_classifier", "classifier"),
    }.get(model_type, ("classifier.dense", "classifier.out_proj"))
    return {
        f"{inner}.weight": (width, width),
        f"{inner}.bias": (width,),
        f"{outer}.weight": (labels, width),
        f"{outer}.bias": (labels,),
    }


def encoder_config(model_type: str, **changes: Any) -> dict[str, Any]:
    """The matching ``config.json``."""
    sizes = (
        {"dim": 32, "n_layers": 2, "n_heads": 4, "activation": "gelu"}
        if model_type == "distilbert"
        else {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-5,
        }
    )
    common = {"model_type": model_type, "max_position_embeddings": 24, "pad_token_id": 0}
    return {**common, **sizes, **changes}


ARCHITECTURES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
}


def classifier_config(model_type: str, labels: int) -> dict[str, Any]:
    """What a model with a head adds to its ``config.json``."""
    return {
        "architectures": [f"{ARCHITECTURES[model_type]}ForSequenceClassification"],
        "id2label": {str(number): f"LABEL_{number}" for number in range(labels)},
    }


def word_piece() -> Tokenizer:
    """A BERT tokenizer of a few words."""
    tokenizer = Tokenizer(
        models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """Writes a small random model folder: ``make_model("bert", prefix="bert.", labels=1, …)``."""

    def make(
        model_type: str = "bert",
        *,
        prefix: str = "",
        seed: int = 0,
        name: str = "model",
        labels: int = 0,
        **changes: Any,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        names = {prefix + key: shape for key, shape in encoder_tensors(model_type).items()}
        if labels:
            names |= head_tensors(model_type, labels, prefix)
            changes = classifier_config(model_type, labels) | changes
        (folder / "config.json").write_text(json.dumps(encoder_config(model_type, **changes)))
        save_file(random_weights(names, seed), folder / "model.safetensors")
        word_piece().save(str(folder / "tokenizer.json"))
        return folder

    return make
