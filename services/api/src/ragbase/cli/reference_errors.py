"""Every error code of the API with its status, read off the code that raises it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ragbase
from ragbase.errors import BackupError, ConfigurationError, RagBaseError
from ragbase.routes.errors import HTTP_CODES

__all__ = ["error_codes"]

_NOT_SERVED = ("cli", "sdk", "evaluation", "embedded")
"""Packages whose errors no request can meet."""


def error_codes() -> dict[int, list[str]]:
    """Codes by HTTP status, both in order."""
    served = {found.__name__: found for found in _served(RagBaseError)}
    pairs = {(found.status, found.code) for found in served.values()} | set(HTTP_CODES.items())
    for path in _sources():
        pairs |= {
            (served[name].status, code)
            for name, code in _raised(ast.parse(path.read_text(encoding="utf-8")))
            if name in served
        }
    return {
        status: sorted(code for each, code in pairs if each == status)
        for status in sorted({status for status, _ in pairs})
    }


def _served(base: type[RagBaseError]) -> Iterator[type[RagBaseError]]:
    """The classes that become answers, those that routes define for themselves included."""
    import ragbase.main  # noqa: F401 - with it all modules that a server runs

    package = base.__module__.split(".")[1]
    if (
        package not in _NOT_SERVED
        and not _of_the_second(base.__module__)
        and base not in (BackupError, ConfigurationError)
    ):
        yield base
        for below in base.__subclasses__():
            yield from _served(below)


def _sources() -> list[Path]:
    root = Path(ragbase.__file__).parent
    return [
        path
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] not in _NOT_SERVED and not _of_the_second(str(path))
    ]


def _of_the_second(place: str) -> bool:
    """Whether only the second API raises what is there; it tells codes in its own way."""
    return "localrag" in place or "gguf" in place


def _raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Class and code of every ``SomeError(…, code="…")``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for keyword in node.keywords:
                if keyword.arg == "code":
                    yield from ((node.func.id, code) for code in _texts(keyword.value))


def _texts(node: ast.expr) -> list[str]:
    """The strings an expression can be: a constant, or one of two."""
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return []
