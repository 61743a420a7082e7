"""An operator that is killed in the middle of its work; fifty times: `make soak`."""

from __future__ import annotations

from e2e.operator_kit import Harness
from e2e.operator_kit.kills import kill_often


async def test_killed_operators_leave_what_one_in_peace_does(stage: Harness) -> None:
    result = await kill_often(stage, kills=6, seed=6)
    assert result.kills == 6
    assert result.actions.keys() == {"create", "update", "delete"}
    assert result.differing == []
    assert result.left == []
