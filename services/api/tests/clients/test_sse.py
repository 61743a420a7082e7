"""Server-sent events: whatever the network cuts, and whatever stands in the data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.sse import Event, events

STREAM = (
    b': ping\n\nevent: a\ndata: {"x":\xe2\x80\xa81}\n\n'
    b"data: one\r\ndata:two\r\n\r\nevent: empty\n\nid: 7\ndata: \xc3\xa9\n\ndata: cut"
)
EXPECTED = [Event("a", '{"x":\u20281}'), Event("", "one\ntwo"), Event("", "é")]


async def _pieces(raw: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    places = sorted({0, len(raw), *(cut % len(raw) for cut in cuts)})
    for start, end in pairwise(places):
        yield raw[start:end]


@given(st.lists(st.integers(min_value=0), max_size=40))
async def test_events_are_the_same_however_the_bytes_arrive(cuts: list[int]) -> None:
    assert [event async for event in events(_pieces(STREAM, cuts))] == EXPECTED


async def test_broken_utf8_is_shown_as_such() -> None:
    found = [event async for event in events(_pieces(b"data: a\xffb\n\n", []))]
    assert found == [Event("", "a\ufffdb")]
