"""All models of a process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

from ragbase_inference.backends.open import AnyModel
from ragbase_inference.registry import ModelRegistry
from ragbase_inference.serving.observer import Observer, Silent
from ragbase_inference.serving.served import ServedModel
from ragbase_inference.serving.spec import ModelSpec, ServingOptions

__all__ = ["ServedModels"]

log = logging.getLogger(__name__)


class ServedModels:
    """Named models, the first one being the default; one event loop uses them."""

    def __init__(
        self,
        specs: Sequence[ModelSpec],
        options: ServingOptions,
        open_spec: Callable[[ModelSpec], AnyModel],
        observe: Callable[[str], Observer] = lambda _: Silent(),
    ) -> None:
        """``open_spec`` loads a model, ``observe`` gives the observer of a name.

        Raises `ValueError` for no model, or two of one name.
        """
        by_name = {spec.name: spec for spec in specs}
        if not by_name or len(by_name) < len(specs):
            raise ValueError("each model needs a name of its own, and there must be one at least")
        self._registry = ModelRegistry[AnyModel](lambda name: _told(open_spec, by_name[name]))
        self._tokenizing = ThreadPoolExecutor(options.tokenization_workers, "tokens")
        self.options = options
        self._models = {
            spec.name: ServedModel(
                spec, options, self._registry, observe(spec.name), self._tokenizing
            )
            for spec in specs
        }

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def __getitem__(self, name: str) -> ServedModel:
        return self._models[name]

    def preload(self) -> None:
        """Load all, unless they are lazy; blocking. Raises `ModelUnavailableError`."""
        if not self.options.lazy:
            for name in self._models:
                self._registry.get(name)

    async def start(self) -> None:
        """Take over what `preload` has loaded."""
        for name in self._registry.loaded():
            await self._models[name].running()

    async def aclose(self) -> None:
        """Fail what waits, let running batches end, give all memory back."""
        for model in self:
            await model.aclose()
        await asyncio.to_thread(self._registry.close)
        self._tokenizing.shutdown(wait=False, cancel_futures=True)


def _told(open_spec: Callable[[ModelSpec], AnyModel], spec: ModelSpec) -> AnyModel:
    """Load, and say so before and after: it may take long."""
    log.info("loading %s: %s", spec.name, spec.model)
    started = monotonic()
    model = open_spec(spec)
    facts = model.facts
    log.info(
        "loaded %s in %.1f s: %s, %s on %s",
        spec.name, monotonic() - started, facts.kind, facts.dtype, facts.device,
    )  # fmt: skip
    return model
