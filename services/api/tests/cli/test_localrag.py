"""`ragbase localrag` and its settings; `up` with both APIs."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx
import pytest

from ragbase.cli.errors import CliError, UsageError
from ragbase.cli.localrag import with_originals
from ragbase.cli.second import second_listener
from ragbase.cli.steps import Steps
from ragbase.settings import Settings

from .test_up import command

NewDatabase = Callable[[str], AbstractAsyncContextManager[str]]


def test_the_originals_names_count_where_ours_are_unset() -> None:
    """L33: one source of defaults; every model can be set."""
    settings = with_originals(
        Settings(),
        {
            "PORT": "8080",
            "OPENAI_API_KEY": "sk-x",
            "OPENAI_MODEL_NAME": "gpt-x",
            "EMBEDDING_MODEL": "mine.gguf",
            "RERANKER_MODEL": "ranker",
            "CHAT_MODEL": "talker",
        },
    )
    assert settings.localrag_port == 8080
    assert settings.localrag_openai_api_key.get_secret_value() == "sk-x"
    assert settings.localrag_openai_model_name == "gpt-x"
    assert settings.localrag_embedding_model == "mine.gguf"
    assert (settings.localrag_reranker_model, settings.localrag_chat_model) == ("ranker", "talker")
    assert {"localrag_port", "localrag_embedding_model"} <= settings.model_fields_set
    assert settings.workers == 0


def test_our_names_win_and_empty_ones_do_not_count() -> None:
    settings = with_originals(
        Settings(localrag_port=1234, localrag_embedding_model="a"),
        {"PORT": "8080", "EMBEDDING_MODEL": "b", "CHAT_MODEL": ""},
    )
    assert (settings.localrag_port, settings.localrag_embedding_model) == (1234, "a")
    assert "localrag_chat_model" not in settings.model_fields_set


def test_a_ggufs_name_is_not_the_served_embedders(tmp_path: Path) -> None:
    (tmp_path / "embedding").mkdir()
    (tmp_path / "embedding" / "local.gguf").touch()
    for name in ("any.gguf", "all-MiniLM-L6-v2.Q4_K_M", "local"):
        given = Settings(embedding_model=name, localrag_models_dir=tmp_path)
        assert with_originals(given, {"EMBEDDING_MODEL": name}).embedding_model == ""
    given = Settings(embedding_model="acme/model", localrag_models_dir=tmp_path)
    both = with_originals(given, {"EMBEDDING_MODEL": "acme/model"})
    assert both.embedding_model == both.localrag_embedding_model == "acme/model"


@pytest.mark.parametrize("port", ["x", "-1", "70000", "80.5"])
def test_a_wrong_port_is_told(port: str) -> None:
    with pytest.raises(UsageError, match="PORT is no port"):
        with_originals(Settings(), {"PORT": port})


def test_a_taken_port_that_nobody_chose_gives_way_and_its_holder_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        chosen = Settings(localrag_port=port)
        with pytest.raises(CliError) as caught, second_listener(chosen, Steps()):
            pass
        assert f"port {port} is in use" in caught.value.message
        assert "LOCALRAG_PORT" in caught.value.hint
        unchosen = chosen.model_construct(**{**chosen.model_dump(), "localrag_port": port})
        unchosen.model_fields_set.discard("localrag_port")
        with second_listener(unchosen, Steps()) as listener:
            assert listener is None
    said = capsys.readouterr().err
    assert f"port {port} is in use" in said
    assert "process" in said


def test_a_free_port_beside_a_free_port() -> None:
    with second_listener(Settings(port=0), Steps()) as listener:
        assert listener is not None
        assert listener.getsockname()[1] not in (0, 57352)
    with second_listener(Settings(localrag_enabled=False), Steps()) as listener:
        assert listener is None


@pytest.mark.slow
async def test_up_serves_both_over_one_store(state_dir: Path) -> None:
    home = state_dir / f"both-{time.monotonic_ns()}"
    with command("up", "--port", "0", "--home", str(home)) as started:
        first = started.wait_for(r"runs at (http://127\.0\.0\.1:\d+)")[1]
        second = started.wait_for(r"Second API at +(http://127\.0\.0\.1:\d+)")[1]
        assert first != second
        async with httpx.AsyncClient(timeout=60) as client:
            body = {"document": "Ships moor at the north quay."}
            stored = await client.post(f"{second}/v1/store", json=body)
            assert stored.status_code == 200, stored.text
            listed = await client.get(f"{first}/v1/documents?collection=localrag")
            assert [each["external_id"] for each in listed.json()] == [stored.json()["file_id"]]
        assert started.end() == 0
        assert "Traceback" not in started.said
    assert sorted(each.name for each in (home / "models").iterdir()) == [
        "chat",
        "embedding",
        "reranker",
    ]


@pytest.mark.slow
async def test_alone_it_serves_on_a_migrated_database(
    new_database: NewDatabase, template: str, tmp_path: Path
) -> None:
    """L27: the start command serves; nothing is compiled or migrated at a start."""
    async with new_database(f"TEMPLATE {template} STRATEGY file_copy") as url:
        with command(
            "localrag",
            "--port",
            "0",
            DATABASE_URL=url,
            LOCALRAG_MODELS_DIR=str(tmp_path / "models"),
            RAGBASE_LOG_FORMAT="json",
        ) as started:
            found = started.wait_for(r'"url": ?"(http://127\.0\.0\.1:\d+)"')
            async with httpx.AsyncClient(base_url=found[1]) as client:
                assert (await client.get("/")).text == "Local RAG API Service"
                stored = await client.post("/v1/store", json={"document": "Ships moor here."})
                assert stored.status_code == 200, stored.text
                rows = await client.post("/v1/retrieve", json={"query": "ships"})
                assert len(rows.json()["results"]) == 1
                assert (await client.get("/health/ready")).status_code == 200
            assert started.end() == 0
    folders = sorted(each.name for each in (tmp_path / "models").iterdir())
    assert folders == ["chat", "embedding", "reranker"]
