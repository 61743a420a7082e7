"""What a TEI-compatible server says of itself in ``GET /info``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragbase.clients.answers import Answer
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import ConfigurationError

__all__ = ["TeiInfo"]

Count = Annotated[int, Field(ge=1)]


class TeiInfo(BaseModel):
    """The fields of TEI 1.x that matter here; it does not state the embedding's dimension.

    ``max_concurrent_requests`` are permits, taken one an *input*.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())

    model_id: str = Field(min_length=1)
    served_model_name: str | None = None
    model_type: dict[str, Any] | str | None = None
    max_input_length: Count
    max_client_batch_size: Count = 32
    max_concurrent_requests: Count = 512

    @classmethod
    def read(cls, answer: Answer) -> TeiInfo:
        """Parse the body of a 200 answer."""
        try:
            return cls.model_validate_json(answer.body)
        except ValidationError:
            raise UnusableAnswerError(
                f"The {answer.server.what}'s /info is not that of text-embeddings-inference."
            ) from None

    def name_for(self, wanted: str) -> str:
        """The name vectors are filed under; `ConfigurationError` if it is not ``wanted``'s model.

        Hub ids and the name after ``--served-model-name`` count, in any case; "" takes any model.
        """
        if self.model_type is not None and "embedding" not in self.model_type:
            raise ConfigurationError(
                f"The server at EMBEDDING_URL serves {self.model_id}, which is no embedding model."
            )
        names = [name for name in (self.model_id, self.served_model_name) if name]
        for name in names:
            if not wanted or name.casefold().rstrip("/") == wanted.casefold().rstrip("/"):
                return name
        raise ConfigurationError(
            f"EMBEDDING_MODEL is {wanted}, but the server at EMBEDDING_URL serves "
            f"{' also called '.join(dict.fromkeys(names))}."
        )
