"""Heads of cross-encoders and sequence classifiers, as transformers' models name their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["HeadLayer", "head_layers"]


@dataclass(frozen=True, slots=True)
class HeadLayer:
    """A dense layer on the first token; the last one, which gives the logits, has no activation."""

    name: str
    """Full name in the checkpoint, except for what stands inside the encoder."""
    activation: Literal["Tanh", "Relu", "Identity"] = "Identity"
    inside_encoder: bool = False


_ROBERTA = (HeadLayer("classifier.dense", "Tanh"), HeadLayer("classifier.out_proj"))
_HEADS = {
    "bert": (HeadLayer("pooler.dense", "Tanh", inside_encoder=True), HeadLayer("classifier")),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": (HeadLayer("pre_classifier", "Relu"), HeadLayer("classifier")),
}


def head_layers(model_type: str) -> tuple[HeadLayer, ...]:
    """Layers from the first token's hidden state to the logits, of a convertible model."""
    return _HEADS[model_type]
