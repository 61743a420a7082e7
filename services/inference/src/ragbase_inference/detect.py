"""What kind of model a folder holds, read from its files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ragbase_inference.config import read_object
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.kinds import Kind

__all__ = [
    "GLINER_CONFIG",
    "is_causal_reranker",
    "is_pooled",
    "kind_of",
    "label_names",
    "model_kind",
]

GLINER_CONFIG = "gliner_config.json"
_TOKEN_LEVEL = ("ForTokenClassification", "ForQuestionAnswering")


def model_kind(folder: Path) -> Kind:
    """Kind of the model in ``folder``; raises `ModelUnavailableError`."""
    if (folder / GLINER_CONFIG).is_file():
        return "ner"
    config = read_object(folder / "config.json", required=True)
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}
    return kind_of(config, pooled=is_pooled(names))


def is_pooled(names: Collection[str]) -> bool:
    """Whether sentence-transformers describes a pooling among the files of these ``names``.

    Its cross-encoders have a ``modules.json``, too; those that answer yes or no end in LogitScore.
    """
    return "modules.json" in names and not any("LogitScore" in name for name in names)


def kind_of(config: Mapping[str, Any], *, pooled: bool) -> Kind:
    """Kind told by a ``config.json``.

    ``pooled``: see `is_pooled`. Qwen3-Embedding and Qwen3-Reranker are both ``Qwen3ForCausalLM``,
    and only the former is pooled.
    """
    architecture = _architecture(config)
    if architecture.endswith("ForSequenceClassification"):
        return "reranker" if len(label_names(config)) == 1 else "classifier"
    if architecture.endswith(_TOKEN_LEVEL):
        raise ModelUnavailableError(
            f"{architecture} models are not run here: name an embedding model, a cross-encoder, "
            "a sequence classifier or a GLiNER model"
        )
    return "reranker" if is_causal_reranker(config, pooled=pooled) else "embedding"


def is_causal_reranker(config: Mapping[str, Any], *, pooled: bool) -> bool:
    """Whether the model answers yes or no, as Qwen3-Reranker does."""
    return _architecture(config) == "Qwen3ForCausalLM" and not pooled


def label_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the classes by number; transformers leaves its default, two labels, unwritten."""
    named = config.get("id2label")
    if isinstance(named, Mapping) and named:
        return tuple(str(named[key]) for key in sorted(named, key=int))
    count = config.get("num_labels")
    return tuple(f"LABEL_{number}" for number in range(count if isinstance(count, int) else 2))


def _architecture(config: Mapping[str, Any]) -> str:
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""
