"""Fetching a model from the Hugging Face hub, or finding it in the hub's cache."""

from __future__ import annotations

import logging
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
from ragbase_inference.config import read_object
from ragbase_inference.detect import GLINER_CONFIG
from ragbase_inference.errors import ModelUnavailableError, NotInstalledError
from ragbase_inference.files import ONNX_FILE, Chooser, ModelFiles, Runner, files_in
from ragbase_inference.weights import torch_files, weight_files

__all__ = ["cached", "fetch", "wanted_files"]

log = logging.getLogger(__name__)

_FETCHED = "fetched"
_ONNX_DESCRIPTIONS = [
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_*_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "*_Pooling/config.json",
]
_TORCH_DESCRIPTIONS = ["*.json", "*.txt", "*.model", "*.jinja", "*_Dense/*"]
"""Its libraries read more of them: slow tokenizers, generation settings, further modules."""


def fetch(name: str, revision: str | None, choose: Chooser) -> tuple[Path, Runner]:
    """Folder of ``name`` in the hub's cache, and who runs it; downloads what that one lacks.

    A model that the cache holds whole is taken from there without a request, so a restart needs
    no network and never changes the model. ``choose`` is asked before anything large is fetched;
    what it raises is passed on. Raises `ModelUnavailableError`.
    """
    try:
        return cached(name, revision, choose) or _download(name, revision, choose)
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


def cached(name: str, revision: str | None, choose: Chooser) -> tuple[Path, Runner] | None:
    """What `fetch` gives, if the hub's cache holds it whole."""
    folder = _cached_folder(name, revision)
    if folder is None:
        return None
    try:
        files = files_in(name, folder)
        runner = choose(files)
    except NotInstalledError:
        raise
    except ModelUnavailableError:  # of a model fetched in part: the hub knows the rest of it
        return None
    return (folder, runner) if _is_whole(folder, files, runner) else None


def _cached_folder(name: str, revision: str | None) -> Path | None:
    for file in ("config.json", GLINER_CONFIG):
        config = try_to_load_from_cache(name, file, revision=revision)
        if isinstance(config, str):
            return Path(config).parent
    return None


def _is_whole(folder: Path, files: ModelFiles, runner: Runner) -> bool:
    """Weights in the form that the runner reads, and certainty about pooling.

    Another program may have fetched the encoder without the files that say how to pool it, and a
    wrong pooling is not noticed: they must be there, or this module have fetched the folder.
    """
    if runner.backend == "onnx":
        weights = bool(weight_files(folder)) if files.converts else ONNX_FILE in files.names
    else:
        weights = bool(weight_files(folder) or torch_files(folder))
    pooled = files.pooled and any(folder.glob("*_Pooling/config.json"))
    return weights and (
        files.kind != "embedding" or pooled or is_marked(_FETCHED, _fact(folder, runner))
    )


def _fact(folder: Path, runner: Runner) -> str:
    return str(folder) if runner.backend == "onnx" else f"{folder}\0{runner.backend}"


def _download(name: str, revision: str | None, choose: Chooser) -> tuple[Path, Runner]:
    siblings = HfApi().model_info(name, revision=revision, timeout=10).siblings or []
    names = frozenset(sibling.rfilename for sibling in siblings)
    config = {}
    if "config.json" in names:
        config = read_object(Path(hf_hub_download(name, "config.json", revision=revision)))
    files = ModelFiles(name, config, names)
    runner = choose(files)
    log.info("fetching %s from the Hugging Face hub", name)
    wanted = wanted_files(files, runner)
    folder = Path(snapshot_download(name, revision=revision, allow_patterns=wanted))
    mark(_FETCHED, _fact(folder, runner))
    return folder, runner


def wanted_files(files: ModelFiles, runner: Runner) -> list[str]:
    """Patterns of what to fetch: descriptions, and the weights in one form only.

    For ONNX Runtime safetensors where we convert them ourselves, else the publisher's ONNX; for
    torch safetensors where there are any, else its own format.
    """
    safetensors = ["model.safetensors.index.json", "model*.safetensors"]
    if runner.backend == "onnx":
        onnx = [ONNX_FILE, f"{ONNX_FILE}_data", f"{ONNX_FILE}.data"]
        return [*_ONNX_DESCRIPTIONS, *(safetensors if files.converts else onnx)]
    return [
        *_TORCH_DESCRIPTIONS,
        *(safetensors if files.has_safetensors else ["pytorch_model*.bin"]),
    ]
