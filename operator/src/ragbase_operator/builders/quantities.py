"""Kubernetes quantities as numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from ragbase_operator.models.pods import Resources

__all__ = ["MIB", "amount", "cpus_of", "memory_mib", "mib"]

MIB: Final = 1024 * 1024
_UNITS: Final = {
    "m": Decimal("0.001"),
    "k": Decimal(10**3),
    **{sign: Decimal(1000**power) for power, sign in enumerate("MGTPE", start=2)},
    **{f"{sign}i": Decimal(1024**power) for power, sign in enumerate("KMGTPE", start=1)},
}


def amount(quantity: str) -> Decimal:
    """A quantity as a number: ``500m`` is 0.5, ``2Ki`` is 2048."""
    for unit in sorted(_UNITS, key=len, reverse=True):
        if quantity.endswith(unit):
            return Decimal(quantity.removesuffix(unit)) * _UNITS[unit]
    return Decimal(quantity)


def mib(quantity: str) -> int:
    """A quantity of bytes in MiB, rounded down."""
    return int(amount(quantity) / MIB)


def memory_mib(resources: Resources, default: int = 1024) -> int:
    """What a container may use, in MiB: its limit, else its request, else ``default``."""
    found = resources.limits.get("memory") or resources.requests.get("memory")
    return default if found is None else mib(found)


def cpus_of(resources: Resources) -> int:
    """How many CPUs a container has, at least 1: its limit, else its request, rounded up."""
    found = resources.limits.get("cpu") or resources.requests.get("cpu")
    return 1 if found is None else max(1, math.ceil(amount(found)))
