"""What a call cost: for the headers of its answer, and for the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragbase_inference.kinds import ModelFacts
from ragbase_inference.serving.jobs import Job
from ragbase_inference.serving.running import Outcome

__all__ = ["Compute"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Characters and tokens are sums over the inputs, seconds are means."""

    characters: int
    tokens: int
    tokenization_s: float
    queue_s: float
    inference_s: float
    jobs: Sequence[Job]
    device: str

    @classmethod
    def of(
        cls, outcome: Outcome, facts: ModelFacts, *, characters: int, tokenization_s: float
    ) -> Compute:
        """Of a call's outcome; ``tokenization_s`` is that of all inputs together."""
        return cls(
            characters=characters,
            tokens=sum(job.size for job in outcome.jobs),
            tokenization_s=tokenization_s / len(outcome.jobs),
            queue_s=outcome.queue_s,
            inference_s=outcome.inference_s,
            jobs=outcome.jobs,
            device="cpu" if facts.device == "cpu" else "gpu",
        )

    def headers(self, total_s: float) -> dict[str, str]:
        """TEI's headers, in whole milliseconds; its ``x-compute-type`` is the device's, here."""
        return {
            "x-compute-type": self.device,
            "x-compute-time": _milliseconds(total_s),
            "x-compute-characters": str(self.characters),
            "x-compute-tokens": str(self.tokens),
            "x-total-time": _milliseconds(total_s),
            "x-tokenization-time": _milliseconds(self.tokenization_s),
            "x-queue-time": _milliseconds(self.queue_s),
            "x-inference-time": _milliseconds(self.inference_s),
        }


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
