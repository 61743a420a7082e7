"""Settings of the server: TEI's names, ours, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ragbase_inference.resolve import MINILM
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.serving.spec import ModelSpec


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in ServerSettings.model_fields.values():
        for name in field.validation_alias.choices:  # type: ignore[union-attr]
            monkeypatch.delenv(str(name), raising=False)
            monkeypatch.delenv(f"{name}_FILE", raising=False)


def test_defaults_are_teis_but_for_the_port() -> None:
    settings = ServerSettings()
    assert (settings.port, settings.hostname) == (8080, "0.0.0.0")
    assert settings.max_client_batch_size == 32
    assert settings.max_concurrent_requests == 512
    assert settings.max_batch_tokens == 16_384
    assert settings.payload_limit == 2_000_000
    assert settings.auto_truncate
    assert settings.specs == [ModelSpec("default", MINILM)]


@pytest.mark.parametrize(
    ("name", "value", "field", "parsed"),
    [
        ("MODEL_ID", "a/b", "model_id", "a/b"),
        ("REVISION", "abc", "revision", "abc"),
        ("PORT", "81", "port", 81),
        ("HOSTNAME", "127.0.0.1", "hostname", "127.0.0.1"),
        ("MAX_CLIENT_BATCH_SIZE", "8", "max_client_batch_size", 8),
        ("MAX_BATCH_TOKENS", "99", "max_batch_tokens", 99),
        ("MAX_CONCURRENT_REQUESTS", "7", "max_concurrent_requests", 7),
        ("MAX_BATCH_REQUESTS", "4", "max_batch_requests", 4),
        ("AUTO_TRUNCATE", "false", "auto_truncate", False),
        ("DTYPE", "float16", "dtype", "float16"),
        ("POOLING", "last-token", "pooling", "lasttoken"),
        ("DEFAULT_PROMPT", "query: ", "default_prompt", "query: "),
        ("SERVED_MODEL_NAME", "x", "served_model_name", "x"),
        ("PAYLOAD_LIMIT", "10", "payload_limit", 10),
        ("RAGBASE_INFERENCE_LAZY", "true", "lazy", True),
        ("RAGBASE_INFERENCE_IDLE_UNLOAD", "9.5", "idle_unload", 9.5),
        ("RAGBASE_INFERENCE_MODELS", "a=b c=d@e", "model", ("a=b", "c=d@e")),
        ("RAGBASE_INFERENCE_MODELS", '["a=b"]', "model", ("a=b",)),
        ("RAGBASE_INFERENCE_DEVICE", "cuda:1", "device", "cuda:1"),
    ],
)
def test_the_environment_is_read(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, field: str, parsed: Any
) -> None:
    monkeypatch.setenv(name, value)
    assert getattr(ServerSettings(), field) == parsed


def test_only_the_settings_own_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAZY", "DEVICE", "THREADS", "BACKEND", "LOG_LEVEL", "MODEL"):
        monkeypatch.setenv(name, "true")
    assert ServerSettings() == ServerSettings.model_construct(
        **{name: field.default for name, field in ServerSettings.model_fields.items()}
    )


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "81")
    assert ServerSettings(port=82).port == 82


def test_the_key_may_come_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    monkeypatch.setenv("API_KEY_FILE", str(tmp_path / "key"))
    settings = ServerSettings()
    assert settings.api_key.get_secret_value() == "secret"
    assert "secret" not in repr(settings)


def test_a_containers_name_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTNAME", "3f1c2d4e5a6b")
    assert ServerSettings().hostname == "0.0.0.0"
    assert ServerSettings(hostname="localhost").hostname == "127.0.0.1"
    assert ServerSettings(hostname="::1").hostname == "::1"


def test_named_models_follow_the_one_of_model_id() -> None:
    settings = ServerSettings(model_id="a/b", revision="r", model=("x=c/d@e", "y=./folder"))
    assert settings.specs == [
        ModelSpec("default", "a/b", "r"),
        ModelSpec("x", "c/d", "e"),
        ModelSpec("y", "./folder"),
    ]
    assert ServerSettings(model=("x=c/d",)).specs == [ModelSpec("x", "c/d")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": ("a",)}, "not of the form name=id"),
        ({"model": ("a=",)}, "not of the form name=id"),
        ({"model": ("a=b@",)}, "not of the form name=id"),
        ({"model": ("a/b=c",)}, "cannot name a model"),
        ({"model": ("a=b", "a=c")}, "two models have one name"),
        ({"model_id": "b", "model": ("default=c",)}, "two models have one name"),
        ({"port": 70_000}, "less than or equal to 65535"),
        ({"idle_unload": 0}, "greater than 0"),
        ({"pooling": "splade"}, "mean"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ServerSettings(**given)
