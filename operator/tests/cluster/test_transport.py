"""What a client does when the server is slow, overloaded, restarting, or gone: a scripted server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from kubernetes_asyncio.client import Configuration
from structlog.testing import capture_logs

from ragbase_operator.cluster.client import KubernetesCluster
from ragbase_operator.cluster.config import load_configuration
from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.cluster.retry import delays, retry_after
from ragbase_operator.cluster.transport import ATTEMPTS, Limits, Transport

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Script:
    """Answers requests by a list of functions, the last of them for ever; notes when they came."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.times: list[float] = []
        self.requests: list[web.BaseRequest] = []
        self.url = ""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.times.append(time.monotonic())
        self.requests.append(request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return await answer(request)


@pytest_asyncio.fixture
async def script() -> AsyncIterator[Script]:
    script = Script()
    server = web.Server(script)
    runner = web.ServerRunner(server, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    script.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield script
    await runner.cleanup()


@pytest_asyncio.fixture
async def transport(script: Script) -> AsyncIterator[Transport]:
    made = Transport(Configuration(host=script.url), Limits(total=4.0, connect=1.0, read=0.5))
    yield made
    await made.close()


def status(code: int, headers: dict[str, str] | None = None, body: object = None) -> Answer:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body or {}, status=code, headers=headers)

    return answer


async def silence(request: web.BaseRequest) -> web.StreamResponse:
    """No answer, until the client hangs up."""
    while request.transport is not None:  # noqa: ASYNC110 - a lost connection sets no event
        await asyncio.sleep(0.05)
    return web.Response()


async def hang_up(request: web.BaseRequest) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.mark.parametrize("passing", [status(429), status(500), status(503), silence, hang_up])
async def test_what_passes_is_tried_again(
    script: Script, transport: Transport, passing: Answer
) -> None:
    script.answers = [passing, passing, status(200, body={"a": 1})]
    answer = await transport.request("GET", "/api/v1")
    assert (answer.status, answer.body, len(script.times)) == (200, {"a": 1}, 3)


@pytest.mark.parametrize("code", [200, 201, 400, 401, 403, 404, 409, 410, 422])
async def test_an_answer_is_not_asked_for_again(
    script: Script, transport: Transport, code: int
) -> None:
    script.answers = [status(code), status(200)]
    assert (await transport.request("DELETE", "/api/v1")).status == code
    assert len(script.times) == 1


async def test_the_server_says_when_to_come_back(script: Script, transport: Transport) -> None:
    script.answers = [status(429, {"Retry-After": "1"}), status(200)]
    await transport.request("GET", "/api/v1")
    assert script.times[1] - script.times[0] >= 1.0


async def test_a_server_that_asks_for_too_much_time_is_left_to_the_next_reconcile(
    script: Script, transport: Transport
) -> None:
    script.answers = [status(503, {"Retry-After": "3600"})]
    with pytest.raises(ClusterError, match="503"):
        await transport.request("GET", "/api/v1")
    assert len(script.times) == 1


async def test_tries_are_bounded_and_spread(script: Script) -> None:
    script.answers = [status(503, body={"message": "shutting down"})]
    transport = Transport(Configuration(host=script.url))
    with pytest.raises(ClusterError, match="503 shutting down"):
        await transport.request("GET", "/api/v1")
    await transport.close()
    gaps = [b - a for a, b in zip(script.times, script.times[1:], strict=False)]
    assert len(script.times) == ATTEMPTS
    assert [gap >= low for gap, low in zip(gaps, (0.125, 0.25, 0.5, 1.0), strict=True)] == [
        True
    ] * 4


async def test_a_silent_server_is_given_up_in_the_time_for_a_call(
    script: Script, transport: Transport
) -> None:
    script.answers = [silence]
    begun = time.monotonic()
    with pytest.raises(ClusterError, match="api/v1"):
        await transport.request("GET", "/api/v1")
    assert time.monotonic() - begun < 4.5


async def test_a_server_that_is_not_there_is_an_error_of_the_cluster() -> None:
    transport = Transport(Configuration(host="http://127.0.0.1:9"), Limits(total=1.0))
    with pytest.raises(ClusterError):
        await transport.request("GET", "/api/v1")
    await transport.close()


async def test_the_default_limits_notice_a_cut_within_90_seconds() -> None:
    assert Limits().read < Limits().total <= 60.0


async def test_a_warning_is_logged_once(script: Script, transport: Transport) -> None:
    script.answers = [status(200, {"Warning": '299 - "unknown field \\"spec.sise\\""'})]
    with capture_logs() as logs:
        for _ in range(3):
            await transport.request("GET", "/api/v1")
    assert [each["warning"] for each in logs] == ['unknown field "spec.sise"']


async def test_new_warnings_without_end_are_not_kept(script: Script, transport: Transport) -> None:
    count = 0

    async def warn(_: web.BaseRequest) -> web.StreamResponse:
        nonlocal count
        count += 1
        return web.json_response({}, headers={"Warning": f'299 - "number {count}"'})

    script.answers = [warn]
    with capture_logs() as logs:
        for _ in range(250):
            await transport.request("GET", "/api/v1")
    assert (count, len(logs)) == (250, 200)


async def test_connections_are_kept(script: Script, transport: Transport) -> None:
    script.answers = [status(200)]
    for _ in range(5):
        await transport.request("GET", "/api/v1")
    peers = {
        request.transport and request.transport.get_extra_info("peername")
        for request in script.requests
    }
    assert len(peers) == 1


async def test_in_a_pod_the_token_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Service accounts' tokens last an hour; the kubelet writes new ones to the same file."""
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    authority.write_text("a certificate")
    module = "kubernetes_asyncio.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(authority))
    monkeypatch.setattr(f"{module}.TOKEN_REFRESH_PERIOD", timedelta(0))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    configuration = await load_configuration()
    assert configuration.host == "https://[fd00::1]:443"
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer first"
    token.write_text("second")
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer second"


async def test_without_a_configuration_there_is_an_error_of_the_cluster(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no way to the cluster"):
        await load_configuration(tmp_path / "absent")


async def test_lists_are_read_in_pages(script: Script) -> None:
    kinds = {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]}
    first = {"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}]}
    second = {"metadata": {}, "items": [{"metadata": {"name": "b"}}]}
    script.answers = [status(200, body=kinds), status(200, body=first), status(200, body=second)]
    cluster = KubernetesCluster(Transport(Configuration(host=script.url)))
    found = await cluster.list("v1", "ConfigMap", "there", {"x": "1", "y": "2"})
    await cluster.close()
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("ConfigMap", "a"),
        ("ConfigMap", "b"),
    ]
    queries = [dict(request.query) for request in script.requests[1:]]
    query = {"limit": "500", "labelSelector": "x=1,y=2"}
    assert queries == [query, {**query, "continue": "more"}]


def test_delays_double_with_jitter_up_to_a_bound() -> None:
    found = list(delays(12))
    bounds = [min(0.25 * 2**n, 8.0) for n in range(11)]
    assert all(bound / 2 <= each <= bound for each, bound in zip(found, bounds, strict=True))
    assert list(delays(12)) != found


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("3", 3), ("-1", 0), ("1.5", 0), ("٣", 0), ("Wed, 21 Oct 2015", 0)],
)
def test_retry_after_is_seconds_or_nothing(header: str | None, seconds: float) -> None:
    assert retry_after(header) == seconds
