"""The command ``ragbase``. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

from ragbase.cli.app import main

__all__ = ["main"]
