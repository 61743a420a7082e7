"""The default install is light: no torch, and no import that a start does not need."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.metadata import distributions

import pytest

HEAVY = re.compile(
    r"^(torch|transformers|sentence[-_.]transformers|optimum|nvidia)\b", re.IGNORECASE
)


def test_torch_cannot_be_imported() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch")


def test_nothing_heavy_is_installed() -> None:
    names = [distribution.name for distribution in distributions()]
    assert "onnxruntime" in names
    assert [name for name in names if HEAVY.match(name)] == []


def test_a_warm_start_imports_neither_onnx_nor_the_hub() -> None:
    code = (
        "import sys; from ragbase_inference.embedder import open_embedder;"
        "open_embedder('all-MiniLM-L6-v2', threads=1); before = set(sys.modules);"
        "assert not {'onnx', 'huggingface_hub', 'safetensors.torch'} & before, before"
    )
    from ragbase_inference.embedder import open_embedder

    open_embedder("all-MiniLM-L6-v2", threads=1)  # the cache is warm from here on
    subprocess.run([sys.executable, "-c", code], check=True)
