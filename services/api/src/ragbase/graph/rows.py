"""Which chunks a reading of the graph may touch, and which relations those tell of."""

from __future__ import annotations

from typing import Any, Final, Protocol

__all__ = ["RowCondition", "told_by"]

_TOLD: Final = """ AND EXISTS (
        SELECT FROM relation_mentions t JOIN chunks c ON c.id = t.chunk_id
        WHERE t.relation_id = r.id AND ({condition})
    )"""


class RowCondition(Protocol):
    """A boolean SQL expression over ``c``, a row of ``chunks``, and its parameters in order."""

    @property
    def sql(self) -> str: ...

    @property
    def args(self) -> list[Any]: ...


def told_by(condition: RowCondition | None) -> str:
    """One more condition (``AND …``) on ``r``, a row of ``relations``; none without ``condition``."""
    return _TOLD.format(condition=condition.sql) if condition else ""
