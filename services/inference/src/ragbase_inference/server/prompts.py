"""The text that is put before an input of an embedding model."""

from __future__ import annotations

from ragbase_inference.kinds import EmbeddingModel
from ragbase_inference.server.errors import ApiError, ErrorType
from ragbase_inference.serving.spec import ServingOptions

__all__ = ["prompt_text"]


def prompt_text(model: EmbeddingModel, options: ServingOptions, wanted: str | None) -> str:
    """The prompt named ``wanted``, else the server's default, else the model's own.

    Raises `ApiError` for a name that the model's files lack.
    """
    if wanted is not None:
        return _named(model, wanted)
    if options.default_prompt is not None:
        return options.default_prompt
    name = options.default_prompt_name or model.default_prompt
    return _named(model, name) if name else ""


def _named(model: EmbeddingModel, name: str) -> str:
    if name in model.prompts:
        return model.prompts[name]
    where = (
        f"it was not found in the Sentence Transformers prompts. Available prompts: "
        f"{sorted(model.prompts)}"
        if model.prompts
        else "no prompts were found in the Sentence Transformers configuration"
    )
    raise ApiError(
        ErrorType.VALIDATION, f"`default-prompt-name` is set to `{name}` but {where}", "validation"
    )
