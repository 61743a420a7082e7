"""What a model's own files say about how to run it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.families import Prefixes, family_prefixes

__all__ = [
    "ModelConfig",
    "Pooling",
    "Precision",
    "max_tokens",
    "position_offset",
    "read_config",
    "read_object",
]

Pooling = Literal["mean", "cls", "max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean"]
Precision = Literal["fp32", "int8"]
"""What the matrix products of a converted model are computed in; see `ragbase_inference.linear`."""

_POOLING_FLAGS: Mapping[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_PASSAGE_PROMPTS = ("document", "passage", "corpus", "text")
_ROBERTA_LIKE = frozenset({"roberta", "xlm-roberta", "camembert"})
_UNBOUNDED = 1_000_000
"""Tokenizers without a limit write 1e30 as ``model_max_length``."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """``max_tokens`` counts special tokens; ``encoder`` is the raw ``config.json``."""

    name: str
    folder: Path
    model_type: str
    dimension: int
    max_tokens: int
    pooling: Pooling
    prefixes: Prefixes
    pad_id: int
    encoder: Mapping[str, Any]

    @property
    def position_offset(self) -> int:
        """Rows of the position table before that of the first token (RoBERTa counts padding)."""
        return self.pad_id + 1 if self.model_type in _ROBERTA_LIKE else 0


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prefixes by name, as the model's authors call them, and the name of the default one."""

    by_name: Mapping[str, str]
    default: str | None


def read_config(name: str, folder: Path, *, with_head: bool = False) -> ModelConfig:
    """Read the files of a model folder; raises `ModelUnavailableError` on what we cannot run.

    ``with_head``: of a cross-encoder or classifier, which neither pools nor has prefixes.
    """
    encoder = read_object(folder / "config.json", required=True)
    pad_id = int(encoder.get("pad_token_id") or 0)
    model_type = str(encoder.get("model_type", ""))
    return ModelConfig(
        name=name,
        folder=folder,
        model_type=model_type,
        dimension=_dimension(encoder, folder),
        max_tokens=max_tokens(encoder, folder),
        pooling="cls" if with_head else _read_pooling(folder),
        prefixes=Prefixes() if with_head else _prefixes(name, folder),
        pad_id=pad_id,
        encoder=encoder,
    )


def _read_json(path: Path, *, required: bool = False) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not required:
            return None
        raise ModelUnavailableError(f"{path} is missing: this is no model folder") from None
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(f"{path} cannot be read: {error}") from error


def read_object(path: Path, *, required: bool = False) -> dict[str, Any]:
    """The JSON object in a file; empty where there is no file, unless it is ``required``.

    Raises `ModelUnavailableError`.
    """
    found = _read_json(path, required=required)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ModelUnavailableError(f"{path} holds no JSON object")
    return found


def _dimension(encoder: Mapping[str, Any], folder: Path) -> int:
    for key in ("hidden_size", "dim", "d_model"):
        if isinstance(encoder.get(key), int):
            return int(encoder[key])
    raise ModelUnavailableError(f"{folder / 'config.json'} does not give the size of a vector")


def _read_pooling(folder: Path) -> Pooling:
    return _pooling(read_object(folder / _pooling_folder(folder) / "config.json"), folder)


def _pooling_folder(folder: Path) -> str:
    """Path of the pooling module; refuses modules that would change the vector unseen."""
    found = "1_Pooling"
    for module in _read_json(folder / "modules.json") or []:
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        if kind == "Pooling":
            found = str(module.get("path", found))
        elif kind not in ("Transformer", "Normalize"):
            raise ModelUnavailableError(
                f"{folder} has a {kind} module, which this embedder cannot run; choose a model of "
                "Transformer, Pooling and Normalize, or serve it elsewhere and set EMBEDDING_URL"
            )
    return found


def _pooling(config: Mapping[str, Any], folder: Path) -> Pooling:
    """Sentence Transformers' default is the mean; it now also writes one ``pooling_mode``."""
    known = {value: value for value in _POOLING_FLAGS.values()}
    modes = [mode for flag, mode in _POOLING_FLAGS.items() if config.get(flag) is True]
    if isinstance(named := config.get("pooling_mode"), str):
        modes = [known[named]] if named in known else []
    elif not modes and not any(key.startswith("pooling_mode") for key in config):
        modes = ["mean"]
    if len(modes) != 1:
        raise ModelUnavailableError(f"{folder} pools in a way this embedder cannot: {dict(config)}")
    return modes[0]


def position_offset(encoder: Mapping[str, Any]) -> int:
    """Rows of the position table before that of the first token, by a ``config.json``."""
    roberta_like = encoder.get("model_type") in _ROBERTA_LIKE
    return int(encoder.get("pad_token_id") or 0) + 1 if roberta_like else 0


def max_tokens(encoder: Mapping[str, Any], folder: Path) -> int:
    """The least of what the sentence model, the tokenizer and the position table allow.

    ``encoder`` is the model's ``config.json``. Raises `ModelUnavailableError` where none of them
    says.
    """
    limits = [
        read_object(folder / "sentence_bert_config.json").get("max_seq_length"),
        read_object(folder / "tokenizer_config.json").get("model_max_length"),
    ]
    positions = encoder.get("max_position_embeddings") or encoder.get("n_positions")
    if isinstance(positions, int):
        limits.append(positions - position_offset(encoder))
    known = [int(n) for n in limits if isinstance(n, int | float) and 0 < n < _UNBOUNDED]
    if not known:
        raise ModelUnavailableError(f"{folder} does not say how many tokens the model reads")
    return min(known)


def _prefixes(name: str, folder: Path) -> Prefixes:
    """Prompts of the model's files, else those its family is known to want."""
    prompts = read_prompts(folder)
    if not any(prompts.by_name.values()):
        return family_prefixes(name)
    default = prompts.by_name.get(prompts.default or "", "")
    passage = next(
        (prompts.by_name[key] for key in _PASSAGE_PROMPTS if key in prompts.by_name), default
    )
    return Prefixes(query=prompts.by_name.get("query", default), passage=passage)


def read_prompts(folder: Path) -> Prompts:
    """The prompts of ``config_sentence_transformers.json``; raises `ModelUnavailableError`."""
    config = read_object(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts")
    by_name = prompts if isinstance(prompts, dict) else {}
    default = config.get("default_prompt_name")
    return Prompts(
        {str(key): str(text) for key, text in by_name.items()},
        str(default) if default in by_name else None,
    )
