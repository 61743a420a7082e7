"""Which files a model has, and so which backends can run it.

The same rules hold for a folder and for the list of files of a repository on the hub, so what is
fetched is what will be run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

from ragbase_inference.config import read_object
from ragbase_inference.convert import is_convertible
from ragbase_inference.detect import GLINER_CONFIG, is_causal_reranker, is_pooled, kind_of
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.kinds import Backend, Kind

__all__ = [
    "ONNX_FILE",
    "Chooser",
    "ModelFiles",
    "Runner",
    "embedding_on_onnx",
    "files_in",
    "runners_of",
    "why_not_onnx",
]

ONNX_FILE = "onnx/model.onnx"
_SAFETENSORS = frozenset({"model.safetensors", "model.safetensors.index.json"})
_PICKLED = frozenset({"pytorch_model.bin", "pytorch_model.bin.index.json"})


class Runner(Enum):
    """A backend, and the kind of models it runs."""

    ONNX_EMBEDDING = "onnx_embedding"
    ONNX_PAIRS = "onnx_pairs"
    TORCH_EMBEDDING = "torch_embedding"
    TORCH_PAIRS = "torch_pairs"
    QWEN_RERANKER = "qwen_reranker"
    GLINER = "gliner"

    @property
    def backend(self) -> Backend:
        """What must be installed."""
        if self is Runner.GLINER:
            return "gliner"
        return "onnx" if self in (Runner.ONNX_EMBEDDING, Runner.ONNX_PAIRS) else "torch"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model before it is loaded, or even fetched."""

    name: str
    config: Mapping[str, Any]
    """``config.json``; empty where there is none (GLiNER)."""
    names: frozenset[str]
    """Paths of all files, relative to the model's folder."""

    @property
    def kind(self) -> Kind:
        """Raises `ModelUnavailableError` for kinds that nothing here runs."""
        return "ner" if GLINER_CONFIG in self.names else kind_of(self.config, pooled=self.pooled)

    @property
    def pooled(self) -> bool:
        """Whether sentence-transformers' description of the pooling is there."""
        return is_pooled(self.names)

    @property
    def has_safetensors(self) -> bool:
        """Weights that can be read without running code."""
        return bool(_SAFETENSORS & self.names)

    @property
    def has_torch_weights(self) -> bool:
        """Weights that torch reads."""
        return self.has_safetensors or bool(_PICKLED & self.names)

    @property
    def converts(self) -> bool:
        """Whether our own graph is written from its safetensors."""
        return self.has_safetensors and is_convertible(self.config)

    @property
    def runs_on_onnx(self) -> bool:
        """Whether ONNX Runtime can run it: a tokenizer, and a graph of ours or its publisher's."""
        return "tokenizer.json" in self.names and (self.converts or ONNX_FILE in self.names)


def files_in(name: str, folder: Path) -> ModelFiles:
    """Files of a local model; raises `ModelUnavailableError` on a broken ``config.json``."""
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return ModelFiles(name, read_object(folder / "config.json"), frozenset(names))


def runners_of(files: ModelFiles) -> tuple[Runner, ...]:
    """All that can run the model where everything is installed; ONNX Runtime first."""
    if (kind := files.kind) == "ner":
        return (Runner.GLINER,)
    if is_causal_reranker(files.config, pooled=files.pooled):
        return (Runner.QWEN_RERANKER,)
    onnx, torch = (
        (Runner.ONNX_EMBEDDING, Runner.TORCH_EMBEDDING)
        if kind == "embedding"
        else (Runner.ONNX_PAIRS, Runner.TORCH_PAIRS)
    )
    possible = {onnx: files.runs_on_onnx, torch: files.has_torch_weights}
    return tuple(runner for runner, can in possible.items() if can)


Chooser: TypeAlias = Callable[[ModelFiles], Runner]
"""Says who runs a model; raises `ModelUnavailableError` where nobody can."""


def embedding_on_onnx(files: ModelFiles) -> Runner:
    """The `Chooser` of those who want an embedder without torch."""
    if not files.runs_on_onnx:
        raise ModelUnavailableError(why_not_onnx(files))
    return Runner.ONNX_EMBEDDING


def why_not_onnx(files: ModelFiles) -> str:
    """What a model lacks to be run by ONNX Runtime."""
    if "tokenizer.json" not in files.names:
        return f"{files.name} has no tokenizer.json (a fast tokenizer is needed)"
    return (
        f"{files.name} cannot be run without torch: it has no {ONNX_FILE}, nor safetensors of a "
        "BERT, RoBERTa, XLM-R or DistilBERT encoder"
    )
