"""What a search did, written down while it runs: time by stage, warnings, whether it is degraded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from ragbase.models.domain import ArmName
from ragbase.models.search import SearchWarning, Stage

__all__ = ["Trace"]


@dataclass(slots=True)
class Trace:
    """One search's record. ``seconds`` holds the stages that ran, also those that failed."""

    started: float = field(default_factory=perf_counter)
    seconds: dict[Stage, float] = field(default_factory=dict)
    warnings: list[SearchWarning] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Codes of the warnings that tell of a failure of something configured."""
    gates: dict[ArmName, float] = field(default_factory=dict)
    """How much an arm trusts its own ranking, 0…1: a factor of its weight in fusion. Left out: 1."""

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Time a stage."""
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - started

    def warn(self, code: str, message: str, stage: str) -> None:
        """The answer went without something that was asked for, or did it otherwise."""
        self.warnings.append(SearchWarning(code=code, message=message, stage=stage))

    def fail(self, code: str, message: str, stage: str) -> None:
        """A warning about something configured that failed: the answer is degraded."""
        self.warn(code, message, stage)
        self.failures.append(code)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self.started
