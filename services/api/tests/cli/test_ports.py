"""Ports, and who holds them."""

from __future__ import annotations

import os
import socket

import pytest

from ragbase.cli.errors import CliError, UsageError
from ragbase.cli.ports import claim, holder_of, url_of


def test_port_zero_gives_a_free_one_and_its_url() -> None:
    with claim("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener) == f"http://127.0.0.1:{port}"


def test_a_used_port_names_its_holder() -> None:
    with claim("127.0.0.1", 0) as holder:
        holder.listen()
        port = holder.getsockname()[1]
        found = holder_of(port)
        assert found is not None
        assert found.pid == os.getpid()
        with pytest.raises(CliError) as caught:
            claim("127.0.0.1", port)
    assert f"port {port} is in use" in caught.value.message
    assert str(os.getpid()) in caught.value.message
    assert "--port 0" in caught.value.hint


def test_a_free_port_has_no_holder() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert holder_of(port) is None


def test_a_wildcard_is_reached_on_loopback() -> None:
    with claim("0.0.0.0", 0) as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["no such host", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_a_usage_error(host: str) -> None:
    with pytest.raises(UsageError, match="cannot listen on"):
        claim(host, 0)
