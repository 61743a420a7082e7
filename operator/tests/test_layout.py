"""What the folder's name asks of the tests."""

from __future__ import annotations

from pathlib import Path


def test_every_folder_of_tests_is_a_package() -> None:
    here = Path(__file__).parent
    folders = {path.parent for path in here.rglob("*.py")}
    assert [each.name for each in folders if not (each / "__init__.py").exists()] == []
