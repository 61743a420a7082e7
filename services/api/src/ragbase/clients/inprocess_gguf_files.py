"""The GGUF files of this machine: fetched, listed, checked, removed. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragbase.clients.gguf import GgufKind
from ragbase.errors import ConfigurationError, InvalidInputError, NotFoundError, UpstreamError
from ragbase_inference.gguf.errors import (
    UnknownModelError,
    UnusableFileError,
    WrongKindOfFileError,
)
from ragbase_inference.gguf.folder import GgufFolder
from ragbase_inference.gguf.pull import Pulled, PullError, pull
from ragbase_inference.gguf.sources import DEFAULT_HUB, parse_source
from ragbase_inference.gguf.stored import StoredModel, remove, stored_models

__all__ = ["DEFAULT_HUB", "GgufRow", "PulledModel", "pull_model", "remove_model", "stored"]


@dataclass(frozen=True, slots=True)
class GgufRow:
    """One file of the folders."""

    name: str
    kind: GgufKind
    bytes: int
    architecture: str
    problem: str
    """Why it cannot be used; "" where it can."""
    check: str
    """``ok``, ``changed``, ``unknown`` (no sum is kept), or "" where it was not asked for."""


@dataclass(frozen=True, slots=True)
class PulledModel:
    """What is in its place now."""

    name: str
    kind: GgufKind
    path: Path
    bytes: int
    sha256: str
    verified: bool
    """Whether the sum was known before the file came."""
    fetched: int
    """Bytes that came over the network now."""


def stored(root: Path, *, check: bool = False) -> list[GgufRow]:
    """By folder and name; ``check`` reads every byte. Folders that are missing count as empty."""
    with _translated():
        return [_row(one) for one in stored_models(GgufFolder(root), check=check)]


def _row(one: StoredModel) -> GgufRow:
    file = one.file
    return GgufRow(file.name, file.kind, file.bytes, one.architecture, one.problem, one.check or "")


def pull_model(
    root: Path,
    source: str,
    *,
    name: str | None = None,
    kind: GgufKind | None = None,
    sha256: str | None = None,
    hub: str = DEFAULT_HUB,
    hub_key: str = "",
    progress: Callable[[int, int | None], None] | None = None,
) -> PulledModel:
    """Fetch a model into the folder of its kind; see `ragbase_inference.gguf.pull`.

    Raises `InvalidInputError` for a source or a sum that is none, `UpstreamError` for what cannot
    be had or is not what it should be.
    """
    with _translated():
        found = pull(
            parse_source(source, name=name, hub=hub),
            GgufFolder(root),
            kind=kind,
            sha256=sha256,
            hub_key=hub_key,
            progress=progress,
        )
        return _pulled(found)


def _pulled(found: Pulled) -> PulledModel:
    file = found.file
    return PulledModel(
        name=file.name,
        kind=file.kind,
        path=file.path,
        bytes=file.bytes,
        sha256=found.sha256,
        verified=found.verified,
        fetched=found.fetched,
    )


def remove_model(root: Path, name: str, kind: GgufKind | None = None) -> GgufKind:
    """Delete a model; the folder it was in. Raises `NotFoundError`."""
    with _translated():
        return remove(GgufFolder(root), name, kind).kind


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the inference package become the product's."""
    try:
        yield
    except UnknownModelError as error:
        raise NotFoundError(_sentence(error), code="model_not_found") from error
    except WrongKindOfFileError as error:
        raise InvalidInputError(_sentence(error), code="model_wrong_kind") from error
    except UnusableFileError as error:
        raise UpstreamError(_sentence(error), code="model_unusable") from error
    except PullError as error:
        raise UpstreamError(_sentence(error), code="pull_failed") from error
    except ValueError as error:
        raise InvalidInputError(_sentence(error), code="invalid_source") from error
    except OSError as error:
        raise ConfigurationError(
            f"The folder of models cannot be used: {error.strerror}. "
            "LOCALRAG_MODELS_DIR or --dir names another."
        ) from error


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
