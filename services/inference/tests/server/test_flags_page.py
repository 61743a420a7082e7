"""The page of flags in the documentation is the one that the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbase_inference.cli import main
from ragbase_inference.server.flags import flags, flags_page
from ragbase_inference.server.settings import ServerSettings

PAGE = Path(__file__).parents[4] / "docs" / "inference-flags.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == flags_page(), "`make docs` writes it again"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flags"]) == 0
    assert capsys.readouterr().out == flags_page()


def test_every_setting_is_a_flag_of_a_group_with_a_meaning() -> None:
    made = list(flags())
    assert [flag.setting for flag in made] == list(ServerSettings.model_fields)
    assert all(flag.group and flag.text and flag.variable for flag in made)
