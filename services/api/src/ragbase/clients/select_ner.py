"""Which NER model is at hand, by the settings."""

from __future__ import annotations

from ragbase.clients.ner import Ner
from ragbase.clients.ner_process import SpacyNer
from ragbase.clients.ner_remote import RemoteNer
from ragbase.clients.ner_spacy import find_model
from ragbase.settings import Settings

__all__ = ["select_ner"]


def select_ner(settings: Settings) -> Ner | None:
    """The model behind ``RAGBASE_NER_URL``, else the installed spaCy model, else None.

    Nothing is loaded or asked yet. Raises `ConfigurationError` for an address that is none.
    """
    if settings.ner_url:
        return RemoteNer(
            settings.ner_url,
            api_key=settings.ner_api_key.get_secret_value(),
            labels=settings.ner_labels,
            threshold=settings.ner_threshold,
            timeout_s=settings.ner_timeout_s,
        )
    model = find_model(settings.ner_model)
    return None if model is None else SpacyNer(model, timeout_s=settings.ner_timeout_s)
