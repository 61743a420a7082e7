"""Times on a machine that others use, too: a bar is for one on which nothing else runs."""

from __future__ import annotations

import os

__all__ = ["patience"]


def patience(seconds: float) -> float:
    """``seconds``, or as much longer as more processes want to run than there are processors."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * max(1.0, waiting)
