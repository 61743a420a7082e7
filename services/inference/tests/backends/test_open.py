"""The backend that suits a model and the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.backends import open as module
from ragbase_inference.backends.onnx_embedding import OnnxEmbedding
from ragbase_inference.backends.onnx_pairs import OnnxPairs
from ragbase_inference.backends.open import is_at_hand, open_model
from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.errors import ModelUnavailableError, NotInstalledError
from ragbase_inference.files import ModelFiles, Runner

CROSS = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "num_labels": 1}
QWEN = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``machine(torch=True, gpu=False)`` says what is installed and what torch reports."""

    def make(*, torch: bool = False, gliner: bool = False, gpu: bool = False) -> None:
        installed = {"torch": torch, "gliner": gliner}
        monkeypatch.setattr(module, "is_installed", installed.__getitem__)
        monkeypatch.setattr(module, "has_accelerator", lambda: gpu)

    make()
    return make


def chosen(config: dict[str, Any], *names: str, backend: Any = "auto", **options: Any) -> Runner:
    files = ModelFiles("own/model", config, frozenset(names))
    return module._choose(files, backend, OpenOptions(**options))


BOTH = ("tokenizer.json", "model.safetensors")


def test_onnx_unless_torch_reports_a_gpu(machine: Any) -> None:
    assert chosen(CROSS, *BOTH) is Runner.ONNX_PAIRS
    machine(torch=True)
    assert chosen(CROSS, *BOTH) is Runner.ONNX_PAIRS
    machine(torch=True, gpu=True)
    assert chosen(CROSS, *BOTH) is Runner.TORCH_PAIRS


def test_torch_where_onnx_cannot(machine: Any) -> None:
    machine(torch=True)
    assert chosen(CROSS, "pytorch_model.bin") is Runner.TORCH_PAIRS
    assert chosen(QWEN, *BOTH) is Runner.QWEN_RERANKER


def test_a_device_or_precision_asked_for_decides(machine: Any) -> None:
    machine(torch=True, gpu=True)
    assert chosen(CROSS, *BOTH, device="cpu") is Runner.ONNX_PAIRS
    assert chosen(CROSS, *BOTH, dtype="int8") is Runner.ONNX_PAIRS
    machine(torch=True)
    assert chosen(CROSS, *BOTH, device="cuda") is Runner.TORCH_PAIRS
    assert chosen(CROSS, *BOTH, dtype="bfloat16") is Runner.TORCH_PAIRS


def test_a_backend_can_be_forced(machine: Any) -> None:
    machine(torch=True, gpu=True)
    assert chosen(CROSS, *BOTH, backend="onnx") is Runner.ONNX_PAIRS
    machine(torch=True)
    assert chosen(CROSS, *BOTH, backend="torch") is Runner.TORCH_PAIRS


@pytest.mark.parametrize(
    ("config", "names", "options", "extra"),
    [
        (QWEN, BOTH, {}, r"ragbase-inference\[torch\]"),
        (CROSS, ("pytorch_model.bin",), {}, r"ragbase-inference\[torch\]"),
        (CROSS, BOTH, {"backend": "torch"}, r"ragbase-inference\[torch\]"),
        (CROSS, BOTH, {"device": "cuda"}, r"ragbase-inference\[torch\]"),
        ({}, ("gliner_config.json",), {}, r"ragbase-inference\[gliner\]"),
    ],
)
def test_what_is_not_installed_is_named(
    machine: Any, config: dict[str, Any], names: tuple[str, ...], options: Any, extra: str
) -> None:
    with pytest.raises(NotInstalledError, match=extra):
        chosen(config, *names, **options)


@pytest.mark.parametrize(
    ("config", "names", "options", "why"),
    [
        (CROSS, (), {}, "nothing that can be run"),
        (CROSS, ("pytorch_model.bin",), {"backend": "onnx"}, "fast tokenizer"),
        (QWEN, BOTH, {"backend": "onnx"}, "without torch"),
        (CROSS, BOTH, {"backend": "gliner"}, "cannot be run by the gliner backend"),
        (QWEN, BOTH, {"dtype": "int8"}, "int8 is for ONNX"),
    ],
)
def test_what_no_installation_runs_is_refused(
    machine: Any, config: dict[str, Any], names: tuple[str, ...], options: Any, why: str
) -> None:
    machine(torch=True, gliner=True)
    with pytest.raises(ModelUnavailableError, match=why) as caught:
        chosen(config, *names, **options)
    assert not isinstance(caught.value, NotInstalledError)


@pytest.mark.parametrize(
    ("options", "why"), [({"device": "cuda"}, "on the CPU"), ({"dtype": "float16"}, "float16")]
)
def test_onnx_refuses_what_only_torch_does(
    machine: Any, make_model: Any, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(ModelUnavailableError, match=why):
        open_model(str(make_model()), backend="onnx", **options)


def test_a_folder_is_opened_as_what_it_is(machine: Any, make_model: Any) -> None:
    embedding = open_model(str(make_model()), threads=1)
    assert isinstance(embedding, OnnxEmbedding)
    assert embedding.facts.kind == "embedding"
    pairs = open_model(str(make_model(labels=1, prefix="bert.", name="pairs")), threads=1)
    assert isinstance(pairs, OnnxPairs)
    assert pairs.facts.kind == "reranker"


def test_what_is_here_is_told_apart_from_what_would_be_fetched(
    machine: Any, make_model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder = make_model(labels=1, prefix="bert.")
    assert is_at_hand(str(folder))
    assert not is_at_hand("own/model")
    (folder / "config.json").write_text(json.dumps(QWEN))
    with pytest.raises(NotInstalledError):
        is_at_hand(str(folder))
