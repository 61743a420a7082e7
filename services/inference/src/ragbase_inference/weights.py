"""Reading safetensors files into float32 arrays."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ragbase_inference.errors import ModelUnavailableError

__all__ = ["Weights", "folder_bytes", "torch_files", "weight_files"]


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a model folder, or none unless all parts are there."""
    return _parts(folder, "model.safetensors")


def torch_files(folder: Path) -> list[Path]:
    """The same of torch's own format, which only torch reads."""
    return _parts(folder, "pytorch_model.bin")


def folder_bytes(folder: Path) -> int:
    """Size of the files in a folder: of a converted model, about the memory it needs."""
    return sum(file.stat().st_size for file in folder.iterdir())


def _parts(folder: Path, name: str) -> list[Path]:
    """The one file ``name``, or those that its index lists."""
    single = folder / name
    if single.is_file():
        return [single]
    try:
        index = json.loads((folder / f"{name}.index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    parts = sorted({folder / str(part) for part in index.get("weight_map", {}).values()})
    return parts if all(part.is_file() for part in parts) else []


class Weights:
    """Tensors of a checkpoint by name, without the prefix that differs between checkpoints.

    ``anchor`` is the name of a tensor that every checkpoint of the architecture has; what stands
    before it (``bert.``, ``roberta.``, ``0.auto_model.``) is the prefix.
    """

    def __init__(self, folder: Path, anchor: str) -> None:
        self._stack = ExitStack()
        self._holders: dict[str, Any] = {}
        try:
            for path in weight_files(folder):
                file = self._stack.enter_context(safe_open(path, framework="numpy"))
                self._holders |= dict.fromkeys(file.keys(), file)
        except (OSError, SafetensorError) as error:
            self._stack.close()
            raise ModelUnavailableError(
                f"the weights in {folder} cannot be read: {error}"
            ) from error
        self._prefix = self._find_prefix(folder, anchor)

    def _find_prefix(self, folder: Path, anchor: str) -> str:
        for name in self._holders:
            if name == anchor or name.endswith("." + anchor):
                return name.removesuffix(anchor)
        self._stack.close()
        raise ModelUnavailableError(f"the weights in {folder} hold no {anchor}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._holders

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """Tensor ``name`` as float32, whatever it is stored as."""
        return self._tensor(self._prefix + name)

    def beside(self, name: str) -> NDArray[np.float32]:
        """The same of a tensor that stands beside the encoder, under its full name: of a head."""
        return self._tensor(name)

    def _tensor(self, full: str) -> NDArray[np.float32]:
        if full not in self._holders:
            raise ModelUnavailableError(f"the weights lack {full}")
        return np.asarray(self._holders[full].get_tensor(full), dtype=np.float32)
