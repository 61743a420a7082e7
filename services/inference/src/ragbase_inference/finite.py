"""Numbers of a model are looked at before anyone uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.errors import NotFiniteError

__all__ = ["check_finite"]


def check_finite(numbers: NDArray[Any]) -> NDArray[Any]:
    """``numbers``, unless one is NaN or infinite: then `NotFiniteError`."""
    if not np.isfinite(numbers).all():
        raise NotFiniteError("the model answered with NaN or infinities")
    return numbers
