"""The way from a port of the machine to one of the node."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from e2e.cluster.daemon import free_port
from e2e.node.relay import start_relay


def listening(port: int = 0) -> socket.socket:
    found = socket.create_server(("127.0.0.1", port))
    found.settimeout(10)
    return found


@pytest.fixture
def way() -> Iterator[tuple[int, int]]:
    """The relay's port, and the one that it leads to, where nobody listens yet."""
    entrance = listening()
    behind = free_port()
    start_relay(entrance, behind)
    yield entrance.getsockname()[1], behind
    entrance.close()


def test_bytes_go_both_ways_and_the_end_is_passed_on(way: tuple[int, int]) -> None:
    entrance, behind = way
    sent = bytes(range(256)) * 4096
    with listening(behind) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                received = b""
                while len(received) < len(sent):
                    received += connection.recv(65_536)
                connection.sendall(received[::-1])

        thread = threading.Thread(target=answer)
        thread.start()
        with socket.create_connection(("127.0.0.1", entrance), timeout=10) as client:
            client.sendall(sent)
            back = b""
            while chunk := client.recv(65_536):
                back += chunk
        thread.join()
    assert back == sent[::-1]


def test_a_connection_ends_at_once_where_nobody_listens(way: tuple[int, int]) -> None:
    with socket.create_connection(("127.0.0.1", way[0]), timeout=10) as client:
        assert client.recv(1) == b""
