"""Devices, number formats and the want of memory, as torch reports them."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ragbase_inference.backends import torch_device
from ragbase_inference.backends.torch_device import choose_device, choose_dtype, run_on, use_threads
from ragbase_inference.batcher import Batcher
from ragbase_inference.cores import usable_cores
from ragbase_inference.errors import ModelFailedError, ModelUnavailableError, OutOfMemoryError

from .conftest import Open
from .models import make_embedding
from .texts import texts

CPU = torch.device("cpu")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``machine("cuda", 2)``: torch reports two such devices."""

    def make(kind: str | None, count: int = 1, *, bfloat16: bool = True) -> None:
        found = torch.device(kind) if kind else None
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: found)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: count if kind else 0)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: bfloat16)

    return make


def test_the_device_is_what_torch_reports(machine: Callable[..., None]) -> None:
    machine(None)
    assert choose_device(None) == CPU
    for kind in ("cuda", "mps", "xpu"):
        machine(kind)
        assert choose_device(None) == torch.device(kind, 0)
        assert choose_device("cpu") == CPU


def test_a_device_asked_for_is_taken_or_refused(machine: Callable[..., None]) -> None:
    machine("cuda", 2)
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    assert choose_device("cuda") == torch.device("cuda", 0)
    for absent in ("cuda:2", "mps"):
        with pytest.raises(ModelUnavailableError, match="2 of kind cuda"):
            choose_device(absent)
    machine(None)
    with pytest.raises(ModelUnavailableError, match="no GPU"):
        choose_device("cuda")
    with pytest.raises(ModelUnavailableError, match="no device that torch knows"):
        choose_device("rocm")


def test_numbers_suit_the_device(machine: Callable[..., None]) -> None:
    gpu = torch.device("cuda", 0)
    machine("cuda")
    assert choose_dtype(None, CPU) is torch.float32
    assert choose_dtype(None, CPU, "bfloat16") is torch.float32
    assert choose_dtype(None, gpu) is torch.bfloat16
    assert choose_dtype(None, gpu, "float16") is torch.float16
    assert choose_dtype("float32", gpu) is torch.float32
    machine("cuda", bfloat16=False)
    assert choose_dtype(None, gpu) is torch.float16
    assert choose_dtype(None, torch.device("mps", 0)) is torch.float16


def test_threads_are_all_usable_cores_whatever_the_environment_says() -> None:
    """OMP_NUM_THREADS=1 is set for the sake of numpy."""
    use_threads(CPU, 1)
    assert torch.get_num_threads() == 1
    use_threads(CPU, 0)
    assert torch.get_num_threads() == usable_cores()


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
        MemoryError(),
    ],
)
def test_every_want_of_memory_is_one_error(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(OutOfMemoryError):
        run_on(CPU, fail)


def test_memory_that_no_machine_has_is_one_too() -> None:
    with pytest.raises(OutOfMemoryError, match="cpu"):
        run_on(CPU, lambda: torch.empty(2**50, dtype=torch.float32))


def test_memory_of_the_attempt_is_free_before_the_cache_is_emptied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[weakref.ref[torch.Tensor]] = []
    seen: list[torch.Tensor | None] = []
    monkeypatch.setattr(torch_device, "empty_cache", lambda _: seen.append(held[0]()))

    def fail() -> None:
        large = torch.zeros(1000)
        held.append(weakref.ref(large))
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(OutOfMemoryError):
        run_on(CPU, fail)
    assert seen == [None]


def test_other_failures_are_the_models() -> None:
    with pytest.raises(ModelFailedError, match="shapes") as caught:
        run_on(CPU, lambda: torch.zeros(2, 3) @ torch.zeros(2, 3))
    assert not isinstance(caught.value, OutOfMemoryError)


async def test_batches_that_do_not_fit_are_halved_and_counted(
    models: Callable[..., Path], opened: Open
) -> None:
    model: Any = opened(models(make_embedding))
    encoded = model.encode(texts(32), cut="right")
    expected = model.embed(encoded)
    encoder = model._module[0]

    def lack(_: Any, given: Sequence[Any]) -> None:
        if len(given[0]["input_ids"]) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook = encoder.register_forward_pre_hook(lack)
    splits: list[int] = []
    batcher = Batcher(
        lambda batch: list(model.embed(batch)),
        cost=len,
        max_cost=10_000,
        max_waiting=100,
        on_oom=splits.append,
    )
    found = await asyncio.wait_for(batcher.submit_all(encoded), 60)
    await batcher.aclose()
    hook.remove()
    np.testing.assert_allclose(np.vstack(found), expected, atol=1e-4)
    assert splits
    assert max(splits) > 5
