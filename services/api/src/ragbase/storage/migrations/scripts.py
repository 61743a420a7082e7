"""Knows the revisions that this version of RagBase ships, without running or importing them.

Every start asks whether the schema is current; reading four constants from each file answers
that in a millisecond, where alembic and SQLAlchemy would take most of a second to import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["CORE", "DIALECTS", "MIGRATIONS", "branch_head", "branch_of", "closure"]

CORE = "core"
DIALECTS = ("native", "paradedb")
MIGRATIONS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Revision:
    """One file in ``versions``; ``down`` is its predecessor in the branch."""

    name: str
    down: str | None
    labels: tuple[str, ...]
    needs: tuple[str, ...]


def branch_head(branch: str) -> str | None:
    """Newest revision of a branch; None while the branch has no revision."""
    members = [name for name in _revisions() if branch_of(name) == branch]
    below = {_revisions()[name].down for name in members}
    return next((name for name in members if name not in below), None)


def branch_of(revision: str) -> str | None:
    """Branch a shipped revision belongs to; None for an unknown one."""
    found = _revisions().get(revision)
    if found is None:
        return None
    if found.labels or found.down is None:
        return next(iter(found.labels), None)
    return branch_of(found.down)


def closure(revisions: Iterable[str]) -> set[str]:
    """The given revisions and everything below them, dependencies included."""
    todo, seen = list(revisions), set[str]()
    while todo:
        found = _revisions().get(todo.pop())
        if found is not None and found.name not in seen:
            seen.add(found.name)
            todo += [*found.needs, *([found.down] if found.down else [])]
    return seen


@cache
def _revisions() -> dict[str, Revision]:
    files = sorted((MIGRATIONS / "versions").glob("*_*.py"))
    read = (_read(file) for file in files if not file.name.startswith("__"))
    return {revision.name: revision for revision in read}


def _read(file: Path) -> Revision:
    constants: dict[str, object] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("revision", "down_revision", "branch_labels", "depends_on"):
                constants[name] = ast.literal_eval(node.value)
    down = constants.get("down_revision")
    assert down is None or isinstance(down, str), f"{file.name}: branches do not merge"
    return Revision(
        name=str(constants["revision"]),
        down=down,
        labels=_strings(constants.get("branch_labels")),
        needs=_strings(constants.get("depends_on")),
    )


def _strings(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    assert isinstance(value, (tuple, list))
    return tuple(str(part) for part in value)
