"""Requests of text-embeddings-inference's routes. Strict: ``"128"`` is no number, null no switch."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "DecodeRequest",
    "EmbedAllRequest",
    "EmbedRequest",
    "EmbedSparseRequest",
    "Input",
    "OpenAIEmbeddingsRequest",
    "PredictRequest",
    "RerankRequest",
    "SimilarityRequest",
    "TokenizeRequest",
    "WireModel",
    "as_inputs",
]

TokenId = Annotated[int, Field(ge=0, le=2**32 - 1)]
Input: TypeAlias = str | list[int]
"""A text, or token ids."""
Inputs = Annotated[
    str | list[str] | list[TokenId] | list[str | list[TokenId]],
    Field(
        union_mode="left_to_right",
        description="A text or token ids, or a list of these.",
        examples=["What is deep learning?", ["What is deep learning?", "It is machine learning."]],
    ),
]
Texts = Annotated[
    str | list[str],
    Field(
        union_mode="left_to_right", description="A text, or a list of texts.", examples=[["a", "b"]]
    ),
]
Size = Annotated[int, Field(ge=0, le=2**63 - 1)]


def _lower(value: Any) -> Any:
    return value.lower() if value in ("Left", "Right") else value


Direction = Annotated[Literal["left", "right"], BeforeValidator(_lower)]


class WireModel(BaseModel):
    """Fields that are not known are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class _Truncating(WireModel):
    truncate: bool | None = Field(
        None, description="Cut long inputs; false refuses them; null is the server's own rule."
    )
    truncation_direction: Direction = Field("right", description="The end that is cut.")


class EmbedAllRequest(_Truncating):
    """Texts whose tokens are to be embedded one by one."""

    inputs: Inputs
    prompt_name: str | None = Field(None, description="Name of a prompt of the model's files.")


class EmbedSparseRequest(EmbedAllRequest):
    """Texts to be embedded as sparse vectors."""


class EmbedRequest(EmbedAllRequest):
    """Texts to be embedded."""

    normalize: bool = Field(True, description="Scale vectors to length one.")
    dimensions: Size | None = Field(None, description="Keep so many leading numbers of a vector.")


class OpenAIEmbeddingsRequest(WireModel):
    """OpenAI's ``POST /v1/embeddings``; ``model`` and ``user`` are ignored."""

    input: Inputs
    model: str | None = None
    user: str | None = None
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="base64: little-endian float32."
    )
    dimensions: Size | None = None


class RerankRequest(_Truncating):
    """Texts to be scored against a query."""

    query: str
    texts: list[str]
    raw_scores: bool = Field(False, description="Logits rather than scores in 0…1.")
    return_text: bool = False


PredictInputs = Annotated[
    str
    | Annotated[list[str], Field(min_length=1, max_length=2)]
    | list[Annotated[list[str], Field(min_length=1, max_length=2)]],
    Field(
        union_mode="left_to_right",
        description="A text, a pair of texts, or a list of lists of one or two texts.",
        examples=["I like it.", [["I like it."], ["A premise.", "A hypothesis."]]],
    ),
]


class PredictRequest(_Truncating):
    """Texts or pairs to be classified."""

    inputs: Annotated[PredictInputs, Field()]
    raw_scores: bool = Field(False, description="Logits rather than probabilities.")


class TokenizeRequest(WireModel):
    """Texts to be split into tokens; nothing is cut."""

    inputs: Texts
    add_special_tokens: bool = True
    prompt_name: str | None = None


class DecodeRequest(WireModel):
    """Token ids to be put together again."""

    ids: Annotated[list[TokenId] | list[list[TokenId]], Field(union_mode="left_to_right")]
    skip_special_tokens: bool = True


class SimilarityInputs(WireModel):
    """One sentence and those it is compared with."""

    source_sentence: str
    sentences: list[str]


class SimilarityParameters(_Truncating):
    """How inputs are prepared."""

    prompt_name: str | None = None


class SimilarityRequest(WireModel):
    """A sentence to be compared with others."""

    inputs: SimilarityInputs
    parameters: SimilarityParameters | None = None


def as_inputs(inputs: Any) -> list[Input]:
    """The inputs one by one: a lone text or a lone list of token ids is one."""
    if isinstance(inputs, str) or (inputs and isinstance(inputs[0], int)):
        return [inputs]
    return list(inputs)
