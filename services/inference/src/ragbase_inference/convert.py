"""From a model folder to an ONNX file that ONNX Runtime opens quickly; made once, then cached.

Two ways lead there. Safetensors of a BERT-family encoder are converted by our own graph: the
operators are known and fused, and a model gives the same vectors wherever it came from. Any other
architecture needs the ``onnx/model.onnx`` of its publisher, which is optimised once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from ragbase_inference.cache import cache_root, file_digest, publish_folder
from ragbase_inference.config import ModelConfig, Precision
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.weights import weight_files

__all__ = ["Report", "default_precision", "is_convertible", "onnx_file"]

log = logging.getLogger(__name__)

_CONVERTER_VERSION = 1
"""Raise it when the graph changes: cached models are made anew."""
_MEASURED_AS_INT8 = frozenset({"nreimers/MiniLM-L6-H384-uncased"})
"""Models whose retrieval quality was measured at int8 (docs/adr/0003); others run at fp32."""
_CONVERTIBLE = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "distilbert"})

Report = Callable[[str], None]


def is_convertible(encoder: Mapping[str, object]) -> bool:
    """Whether a ``config.json`` describes an encoder that `ragbase_inference.encoder` writes."""
    absolute = encoder.get("position_embedding_type", "absolute") == "absolute"
    own_code = "auto_map" in encoder  # the publisher's Python, under a well-known type
    known = encoder.get("model_type") in _CONVERTIBLE
    return known and absolute and not own_code and not encoder.get("is_decoder")


def default_precision(config: ModelConfig) -> Precision:
    """``int8`` where it was measured to retrieve as well as ``fp32``."""
    return "int8" if config.encoder.get("_name_or_path") in _MEASURED_AS_INT8 else "fp32"


def onnx_file(
    config: ModelConfig,
    precision: Precision,
    report: Report = log.info,
    *,
    with_head: bool = False,
) -> Path:
    """Path of the ONNX file to run; ``report`` is told before anything slow begins.

    ``with_head``: of a cross-encoder or classifier; the file gives logits.

    Raises `ModelUnavailableError`. Takes seconds the first time, milliseconds afterwards.
    """
    weights = weight_files(config.folder)
    if weights and is_convertible(config.encoder):
        return _converted(config, weights, precision, report, with_head=with_head)
    published = config.folder / "onnx" / "model.onnx"
    if published.is_file():
        return _optimised(config, published, report)
    raise ModelUnavailableError(
        f"{config.name} (model type {config.model_type!r}) has neither onnx/model.onnx nor "
        "safetensors of a BERT, RoBERTa, XLM-R or DistilBERT encoder"
    )


def _converted(
    config: ModelConfig,
    weights: list[Path],
    precision: Precision,
    report: Report,
    *,
    with_head: bool,
) -> Path:
    facts = [file_digest(path) for path in (*weights, config.folder / "config.json")]
    head = ("head",) if with_head else ()
    target = _entry(config, *facts, precision, f"converter {_CONVERTER_VERSION}", *head)

    def fill(folder: Path) -> None:
        # onnx is not needed on later starts
        from ragbase_inference.encoder import write_classifier, write_encoder

        report(f"converting {config.name} to ONNX ({precision}), once")
        (write_classifier if with_head else write_encoder)(config, folder, precision)

    return publish_folder(target, fill) / "model.onnx"


def _optimised(config: ModelConfig, published: Path, report: Report) -> Path:
    import onnxruntime

    data = [p for p in published.parent.glob("model.onnx[._]data") if p.is_file()]
    facts = [file_digest(path) for path in (published, *data)]
    target = _entry(config, *facts, f"onnxruntime {onnxruntime.__version__}")

    def fill(folder: Path) -> None:
        from ragbase_inference.session import save_optimised

        report(f"optimising {config.name}, once")
        save_optimised(published, folder)

    return publish_folder(target, fill) / "model.onnx"


def _entry(config: ModelConfig, *facts: str) -> Path:
    """Folder in the cache: readable, and another one whenever any fact differs."""
    key = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:20]
    readable = "".join(c if c.isalnum() or c in "-." else "-" for c in config.name.strip("/."))
    return cache_root() / "models" / f"{readable[-60:]}-{key}"
