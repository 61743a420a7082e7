"""The question to the cluster's DNS, asked of a server that answers as we say."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from e2e.node import network


class Server:
    """Answers one query with so many addresses; port 53 is read as its own."""

    def __init__(self, answers: int | None) -> None:
        self.answers = answers
        self.query = b""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(10)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        self.query, peer = self.socket.recvfrom(512)
        if self.answers is not None:
            head = struct.pack(">6H", 7, 0x8180, 1, self.answers, 0, 0)
            self.socket.sendto(head + self.query[12:], peer)

    def close(self) -> None:
        self.thread.join()
        self.socket.close()


@pytest.mark.parametrize(("answers", "known"), [(1, True), (0, False), (None, False)])
def test_a_name_is_known_where_an_address_comes_back(
    monkeypatch: pytest.MonkeyPatch, answers: int | None, known: bool
) -> None:
    server = Server(answers)
    monkeypatch.setattr(network, "DNS_PORT", server.socket.getsockname()[1])
    try:
        assert network.dns_answers("127.0.0.1", "kubernetes.default", timeout_s=0.5) is known
    finally:
        server.close()
    assert b"\x0akubernetes\x07default\x00\x00\x01\x00\x01" in server.query
