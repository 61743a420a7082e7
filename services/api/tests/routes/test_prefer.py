"""Reading `Prefer` headers."""

from __future__ import annotations

import pytest

from ragbase.routes.prefer import MAX_WAIT_S, Prefer, read_preferences


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Prefer()),
        ([""], Prefer()),
        (["respond-async"], Prefer(respond_async=True)),
        (["Respond-Async, wait=5"], Prefer(respond_async=True, wait_s=5)),
        (["wait=5", "respond-async"], Prefer(respond_async=True, wait_s=5)),
        (['wait="7"; foo=bar'], Prefer(wait_s=7)),
        (["wait = 7"], Prefer(wait_s=7)),
        (["wait=3, wait=9"], Prefer(wait_s=3)),
        (["wait=99999999999999999999999"], Prefer(wait_s=MAX_WAIT_S)),
        (["wait=-1", "wait=soon"], Prefer()),
        (["wait=²"], Prefer()),
        (["return=minimal, handling=lenient"], Prefer()),
        (["respond-async-maybe"], Prefer()),
    ],
)
def test_known_preferences_are_read_and_the_rest_is_ignored(
    values: list[str], expected: Prefer
) -> None:
    assert read_preferences(values) == expected
