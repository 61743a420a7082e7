"""Checks the vectors that a model server sends before anything believes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragbase.errors import UpstreamError
from ragbase.models.domain import Vectors

__all__ = ["UnusableAnswerError", "unit_rows"]


class UnusableAnswerError(UpstreamError):
    """The server said 200 and sent something that is not the answer; worth asking once more."""


def unit_rows(raw: object, *, rows: int, dimension: int | None = None, first: int = 0) -> Vectors:
    """Rows of ``raw`` (list of lists of numbers, or float array) as unit vectors.

    Shape (rows, dimension); ``dimension`` None takes what comes. ``first`` is the number of the
    first text in the caller's list, for the message. Raises `UnusableAnswerError` where count,
    dimension or numbers are wrong: a missing row would shift every vector after it, and one NaN
    spoils an index for all.
    """
    if not isinstance(raw, list | np.ndarray):
        raise UnusableAnswerError("The embedding server sent no list of vectors.")
    if len(raw) != rows:
        raise UnusableAnswerError(f"The embedding server sent {len(raw)} vectors for {rows} texts.")
    if rows == 0:
        return np.empty((0, dimension or 0), dtype=np.float32)
    values = _numbers(raw, dimension, first)
    return _normalised(values, first)


def _numbers(
    raw: Sequence[Any] | NDArray[Any], dimension: int | None, first: int
) -> NDArray[np.float64]:
    width = dimension or _width(raw[0])
    for number, row in enumerate(raw, start=first):
        if _width(row) != width or width == 0:
            raise UnusableAnswerError(
                f"The embedding server sent a vector of {_width(row)} numbers for text {number}, "
                f"not {width or 'some'}."
            )
    try:
        values = np.asarray(raw)
    except (ValueError, OverflowError):
        values = np.empty(0, dtype=object)
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise UnusableAnswerError(
            f"The embedding server sent something else than numbers for text "
            f"{first + _first_strange_row(raw)}."
        )
    return values.astype(np.float64)


def _width(row: object) -> int:
    return len(row) if isinstance(row, list | np.ndarray) else 0


def _first_strange_row(raw: Sequence[Any] | NDArray[Any]) -> int:
    """Number of the first row with a null, a string, a flag or a list in place of a number."""
    for number, row in enumerate(raw):
        if any(type(value) not in (int, float) for value in row):
            return number
    return 0


def _normalised(values: NDArray[np.float64], first: int) -> Vectors:
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(values, axis=1)
    # The norm is NaN or infinite as soon as one number is.
    for wrong, what in ((~np.isfinite(norms), "NaN or infinite numbers"), (norms == 0, "zeros")):
        if wrong.any():
            number = first + int(np.argmax(wrong))
            raise UnusableAnswerError(
                f"The embedding server sent {what} as the vector of text {number}."
            )
    unit: Vectors = (values / norms[:, None]).astype(np.float32)
    return unit
