"""Which chunks a reading of the graph may touch."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["RowCondition"]


class RowCondition(Protocol):
    """A boolean SQL expression over ``c``, a row of ``chunks``, and its parameters in order."""

    @property
    def sql(self) -> str: ...

    @property
    def args(self) -> list[Any]: ...
