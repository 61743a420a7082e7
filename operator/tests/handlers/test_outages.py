"""An API server that restarts, and a connection that dies without a word."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError

from e2e.cluster.identity import kubeconfig, private
from e2e.operator_kit import Harness
from e2e.operator_kit.patience import patience
from e2e.operator_kit.relay import Relay


async def test_a_restart_of_the_api_server_is_survived(stage: Harness) -> None:
    await stage.start(RAGBASE_OPERATOR_HEARTBEAT_SECONDS="1")
    await stage.create()
    await stage.until_ready()
    stage.server.restart()
    stage.delete("Service", "kb-api")
    stage.write("RagBase", "kb", {"spec": {"api": {"replicas": 2}}})
    await stage.until(lambda: stage.get("Service", "kb-api"), 60)
    await stage.until(
        lambda: (stage.get("Deployment", "kb-api") or {})["spec"]["replicas"] == 2, 60
    )
    health, _ = stage.ports()
    await stage.until(lambda: "seen 0 s ago" in stage.fetch(health, "/healthz"), 60)


async def test_a_silent_cut_is_noticed(stage: Harness, tmp_path: Path) -> None:
    """Here with a silence of 5 s; with the default of 70 s: `make soak`."""
    async with Relay(stage.server.port) as relay:
        config = tmp_path / "relay.kubeconfig"
        url = f"https://127.0.0.1:{relay.port}"
        private(config, kubeconfig(url, stage.server.ca_file, stage.server.token()))
        await stage.start(
            KUBECONFIG=str(config),
            RAGBASE_OPERATOR_WATCH_SILENCE_SECONDS="5",
            RAGBASE_OPERATOR_HEARTBEAT_SECONDS="1",
        )
        await stage.create()
        await stage.until_ready()
        assert relay.cut() > 0
        stage.write("RagBase", "kb", {"spec": {"api": {"replicas": 2}}})
        took = await stage.until(
            lambda: (stage.get("Deployment", "kb-api") or {})["spec"]["replicas"] == 2, 90
        )
        assert took <= patience(60), "a request gives up after 35 s, a watch after 5 s"
        health, _ = stage.ports()
        await stage.until(lambda: _seen_now(stage, health), 60)


def _seen_now(stage: Harness, health: int) -> bool:
    try:
        return "seen 0 s ago" in stage.fetch(health, "/healthz")
    except HTTPError:  # 503, as long as nothing is seen
        return False
