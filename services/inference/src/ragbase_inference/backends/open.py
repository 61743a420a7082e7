"""From the name of a model to the model, by the backend that suits it and this machine.

Every opener is called as ``open_…(found, options)`` with a `ResolvedModel` and `OpenOptions`, and
imports its libraries only then: the default install carries neither torch nor GLiNER.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ragbase_inference.backends.accelerator import has_accelerator, is_installed
from ragbase_inference.backends.onnx_options import ONNX_DTYPES
from ragbase_inference.backends.options import Dtype, OpenOptions
from ragbase_inference.config import Pooling
from ragbase_inference.errors import ModelUnavailableError, NotInstalledError
from ragbase_inference.files import ONNX_FILE, ModelFiles, Runner, runners_of, why_not_onnx
from ragbase_inference.kinds import EmbeddingModel, PairModel, SpanModel
from ragbase_inference.resolve import ResolvedModel, find, resolve

__all__ = ["AnyModel", "BackendChoice", "is_at_hand", "open_model"]

log = logging.getLogger(__name__)

AnyModel: TypeAlias = EmbeddingModel | PairModel | SpanModel
BackendChoice: TypeAlias = Literal["auto", "onnx", "torch", "gliner"]

_EXTRAS = {"torch": "torch", "gliner": "gliner"}
"""Packages of a backend that the default install lacks, and the extra that brings them."""


def open_model(
    model: str,
    *,
    revision: str | None = None,
    backend: BackendChoice = "auto",
    device: str | None = None,
    dtype: Dtype | None = None,
    pooling: Pooling | None = None,
    threads: int = 0,
    instruction: str | None = None,
    report: Callable[[str], None] = log.info,
) -> AnyModel:
    """Find, fetch if needed, and load ``model``: a folder or a Hugging Face id (``id@revision``).

    ``auto`` takes torch where it is installed and reports a GPU, else ONNX Runtime where the model
    can run there, else torch. What is left None suits the model and the machine. Raises
    `ModelUnavailableError`; may take minutes when the model has to be fetched.
    """
    options = OpenOptions(
        device=device,
        dtype=dtype,
        pooling=pooling,
        threads=threads,
        instruction=instruction,
        report=report,
    )
    name = f"{model}@{revision}" if revision else model
    found = resolve(name, lambda files: _choose(files, backend, options))
    return _open(found, options)


def is_at_hand(model: str, *, backend: BackendChoice = "auto") -> bool:
    """Whether `open_model` would find all files of ``model`` on this machine, without a request.

    Raises `ModelUnavailableError` where they are here and cannot be run.
    """
    return find(model, lambda files: _choose(files, backend, OpenOptions())) is not None


def _choose(files: ModelFiles, backend: BackendChoice, options: OpenOptions) -> Runner:
    """The runner among those that the files allow; raises `ModelUnavailableError`."""
    possible = [one for one in runners_of(files) if backend in ("auto", one.backend)]
    if backend == "auto":
        possible = [one for one in possible if _can_do(one, options)]
    if not possible:
        raise ModelUnavailableError(_why_not(files, backend))
    installed = [one for one in possible if _is_available(one)]
    if not installed:
        raise NotInstalledError(_what_to_install(files, possible))
    if _wants_accelerator(options.device):
        installed.sort(key=lambda one: one.backend == "onnx")
    return installed[0]


def _can_do(runner: Runner, options: OpenOptions) -> bool:
    """ONNX Runtime is run on the CPU, in single precision or int8; torch has no int8."""
    if runner.backend == "onnx":
        return options.device in (None, "cpu") and options.dtype in ONNX_DTYPES
    return options.dtype != "int8"


def _wants_accelerator(device: str | None) -> bool:
    return has_accelerator() if device is None else device != "cpu"


def _is_available(runner: Runner) -> bool:
    package = _EXTRAS.get(runner.backend)
    return package is None or is_installed(package)


def _why_not(files: ModelFiles, backend: BackendChoice) -> str:
    if backend == "onnx" and files.kind in ("embedding", "classifier", "reranker"):
        return why_not_onnx(files)
    if backend == "auto":
        return (
            f"{files.name} has nothing that can be run as asked: safetensors, {ONNX_FILE} or "
            "weights of torch (int8 is for ONNX Runtime, half precision and GPUs for torch)"
        )
    return f"{files.name} cannot be run by the {backend} backend"


def _what_to_install(files: ModelFiles, possible: Sequence[Runner]) -> str:
    extras = " or ".join(f"ragbase-inference[{_EXTRAS[one.backend]}]" for one in possible)
    return f"{files.name} needs a backend that is not installed: install {extras}"


def _open(found: ResolvedModel, options: OpenOptions) -> AnyModel:
    match found.runner:
        case Runner.ONNX_EMBEDDING:
            from ragbase_inference.backends.onnx_embedding import open_onnx_embedding

            return open_onnx_embedding(found, options)
        case Runner.ONNX_PAIRS:
            from ragbase_inference.backends.onnx_pairs import open_onnx_pairs

            return open_onnx_pairs(found, options)
        case Runner.TORCH_EMBEDDING:
            from ragbase_inference.backends.torch_embedding import open_torch_embedding

            return open_torch_embedding(found, options)
        case Runner.TORCH_PAIRS:
            from ragbase_inference.backends.torch_pairs import open_torch_pairs

            return open_torch_pairs(found, options)
        case Runner.QWEN_RERANKER:
            from ragbase_inference.backends.qwen_reranker import open_qwen_reranker

            return open_qwen_reranker(found, options)
        case Runner.GLINER:
            from ragbase_inference.backends.gliner_spans import open_gliner

            return open_gliner(found, options)
