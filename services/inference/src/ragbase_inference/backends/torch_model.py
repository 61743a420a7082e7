"""What all models that torch runs have in common: a device, a lock, an end."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import torch

from ragbase_inference.backends.torch_device import empty_cache, run_on, weight_bytes
from ragbase_inference.errors import ClosedError, ModelUnavailableError
from ragbase_inference.kinds import ModelFacts
from ragbase_inference.tokens import TextTokenizer

__all__ = ["TorchModel", "float32_head", "load", "text_tokenizer"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class TorchModel:
    """Holds ``module`` until closed; one thread at a time runs it."""

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        device: torch.device,
        facts: ModelFacts,
        tokenizer: TextTokenizer,
    ) -> None:
        self.facts = facts
        self.tokenizer = tokenizer
        self._module: torch.nn.Module | None = module.to(device).eval().requires_grad_(False)
        self._device = device
        self._weight_bytes = weight_bytes(module)
        self._lock = threading.Lock()

    def memory_bytes(self) -> int:
        """Bytes of the weights on the device; what a batch needs beside them is not counted."""
        return self._weight_bytes if self._module is not None else 0

    def close(self) -> None:
        """Give the memory back; waits for a running batch."""
        with self._lock:
            self._module = None
            gc.collect()  # the libraries' models refer to themselves in circles
            empty_cache(self._device)

    def _run(self, call: Callable[[Any], Result]) -> Result:
        """What ``call`` makes of the module; raises as `run_on` does, and `ClosedError`."""
        with self._lock:
            module = self._module
            if module is None:
                raise ClosedError(f"{self.facts.model} is closed")
            return run_on(self._device, lambda: call(module))


def load(model: str, open_it: Callable[[], Result]) -> Result:
    """What ``open_it`` gives; whatever it raises becomes `ModelUnavailableError`.

    The libraries raise all sorts of errors on folders they cannot read.
    """
    from transformers.utils import logging as of_transformers

    of_transformers.disable_progress_bar()  # it would be drawn over a server's log
    try:
        return open_it()
    except ModelUnavailableError:
        raise
    except Exception as error:
        log.debug("%s cannot be loaded", model, exc_info=True)
        raise ModelUnavailableError(
            f"{model} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def text_tokenizer(folder: Path, tokenizer: Any) -> TextTokenizer:
    """Our tokenizer of the model in ``folder``.

    Of its ``tokenizer.json``, so that all backends see the same ids, else of what transformers
    made of the files there are. Raises `ModelUnavailableError`.
    """
    if (folder / "tokenizer.json").is_file():
        return TextTokenizer(folder)
    with TemporaryDirectory() as name:
        tokenizer.save_pretrained(name)
        if not (Path(name) / "tokenizer.json").is_file():
            raise ModelUnavailableError(
                f"{folder} has no tokenizer.json and its tokenizer has no fast form"
            )
        return TextTokenizer(Path(name))


def float32_head(head: torch.nn.Module) -> None:
    """Let ``head`` compute in fp32 whatever the encoder below it computes in.

    A bfloat16 score has three digits: of a hundred candidates many would tie.
    """
    head.float()
    head.register_forward_pre_hook(_to_float32, with_kwargs=True)


def _to_float32(_: torch.nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    def up(value: Any) -> Any:
        is_half = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.float() if is_half else value

    return tuple(up(value) for value in args), {key: up(value) for key, value in kwargs.items()}
