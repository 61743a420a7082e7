"""Fetching a model from the Hugging Face hub, or finding it in the hub's cache."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from ragbase_inference.cache import is_marked, mark
from ragbase_inference.convert import is_convertible
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.weights import weight_files

__all__ = ["fetch", "wanted_files"]

log = logging.getLogger(__name__)

_ONNX = "onnx/model.onnx"
_FETCHED = "fetched"
_DESCRIPTIONS = [
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_*_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "*_Pooling/config.json",
]


def fetch(name: str, revision: str | None) -> Path:
    """Folder of ``name`` in the hub's cache, downloading what is missing.

    A model that the cache holds whole is taken from there without a request, so a restart needs
    no network and never changes the model. Raises `ModelUnavailableError`.
    """
    try:
        return _cached(name, revision) or _download(name, revision)
    except HFValidationError as error:
        raise ModelUnavailableError(
            f"{name!r} is neither a folder nor a Hugging Face model id (owner/name)"
        ) from error
    except GatedRepoError as error:
        raise ModelUnavailableError(
            f"{name} is gated: accept its terms on huggingface.co and set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise ModelUnavailableError(f"{name} has no revision {revision}") from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailableError(
            f"there is no model {name} on the Hugging Face hub (a private one needs HF_TOKEN)"
        ) from error
    except HfHubHTTPError as error:
        raise ModelUnavailableError(f"the Hugging Face hub refused {name}: {error}") from error
    except ModelUnavailableError:
        raise
    except Exception as error:  # the client lets errors of its HTTP library through: connection,
        raise ModelUnavailableError(_unreachable(name, error)) from error  # time-out, full disk


def _unreachable(name: str, error: Exception) -> str:
    why = "HF_HUB_OFFLINE is set" if isinstance(error, OfflineModeIsEnabled) else str(error)
    return (
        f"{name} is not in the Hugging Face cache and cannot be fetched ({why}); go online, copy "
        "the cache of another machine (HF_HOME), or name a local folder"
    )


def _cached(name: str, revision: str | None) -> Path | None:
    config = try_to_load_from_cache(name, "config.json", revision=revision)
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    return folder if _is_whole(folder) else None


def _is_whole(folder: Path) -> bool:
    """Weights, tokenizer, and certainty about pooling.

    Another program may have fetched the encoder without the files that say how to pool it, and a
    wrong pooling is not noticed: they must be there, or this module have fetched the folder.
    """
    described = all((folder / name).is_file() for name in ("config.json", "tokenizer.json"))
    weights = (folder / _ONNX).is_file() or bool(weight_files(folder))
    pooled = (folder / "modules.json").is_file() and any(folder.glob("*_Pooling/config.json"))
    return described and weights and (pooled or is_marked(_FETCHED, str(folder)))


def _download(name: str, revision: str | None) -> Path:
    siblings = HfApi().model_info(name, revision=revision, timeout=10).siblings or []
    config = Path(hf_hub_download(name, "config.json", revision=revision))
    convertible = is_convertible(json.loads(config.read_text(encoding="utf-8")))
    wanted = wanted_files(name, [s.rfilename for s in siblings], convertible=convertible)
    log.info("fetching %s from the Hugging Face hub", name)
    folder = Path(snapshot_download(name, revision=revision, allow_patterns=wanted))
    mark(_FETCHED, str(folder))
    return folder


def wanted_files(name: str, files: Collection[str], *, convertible: bool) -> list[str]:
    """Patterns of what to fetch: descriptions, and the weights in one form only.

    Safetensors where we convert them ourselves, else the publisher's ONNX.
    """
    if "tokenizer.json" not in files:
        raise ModelUnavailableError(f"{name} has no tokenizer.json (a fast tokenizer is needed)")
    if convertible and {"model.safetensors", "model.safetensors.index.json"} & set(files):
        return [*_DESCRIPTIONS, "model.safetensors.index.json", "model*.safetensors"]
    if _ONNX in files:
        return [*_DESCRIPTIONS, _ONNX, f"{_ONNX}_data", f"{_ONNX}.data"]
    raise ModelUnavailableError(
        f"{name} cannot be run here: it has no {_ONNX}, nor safetensors of a BERT, RoBERTa, XLM-R "
        "or DistilBERT encoder"
    )
