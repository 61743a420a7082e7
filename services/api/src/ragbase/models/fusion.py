"""How the rankings of several arms become one: the settings of a request or a collection."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from ragbase.limits import RRF_K
from ragbase.models.domain import ArmName

__all__ = ["DEFAULT_RRF", "FusionSettings", "RrfFusion", "WeightedFusion", "read_fusion"]

Weight = Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)]


class RrfFusion(BaseModel):
    """Reciprocal rank fusion: Σ 1 / (k + rank), rank from 1 in each arm that has the chunk."""

    model_config = ConfigDict(frozen=True)

    method: Literal["rrf"] = "rrf"
    k: int = Field(
        default=RRF_K,
        ge=1,
        le=10_000,
        description="Larger: the arms' first places count less against agreement between arms.",
    )


class WeightedFusion(BaseModel):
    """Weighted mean of the arms' scores: of each arm the best row counts 1, a BM25 or cosine of 0
    counts 0, as does a chunk that the arm does not have."""

    model_config = ConfigDict(frozen=True)

    method: Literal["weighted"]
    weights: dict[ArmName, Weight] = Field(
        description="Weight of each arm; only ratios matter. An arm left out or of weight 0 is not "
        "asked at all.",
        examples=[{"semantic": 0.5, "keyword": 0.5}],
    )

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(self.weights.values()):
            raise ValueError("at least one of semantic, keyword, graph must weigh more than 0")
        return self


FusionSettings: TypeAlias = Annotated[RrfFusion | WeightedFusion, Field(discriminator="method")]

DEFAULT_RRF = RrfFusion()

_ADAPTER: TypeAdapter[RrfFusion | WeightedFusion] = TypeAdapter(FusionSettings)


def read_fusion(stored: object) -> RrfFusion | WeightedFusion:
    """Settings as stored with a collection. Raises pydantic's `ValidationError`."""
    return _ADAPTER.validate_python(stored)
