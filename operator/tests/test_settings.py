"""Settings of the operator: from the environment, checked at the start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from ragbase_operator import __version__
from ragbase_operator.handlers.configure import configure
from ragbase_operator.settings import OperatorSettings

DOCS = Path(__file__).parents[2] / "docs" / "operator.md"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in OperatorSettings.model_fields:
        monkeypatch.delenv(f"RAGBASE_OPERATOR_{name.upper()}", raising=False)
    return monkeypatch


@pytest.mark.usefixtures("environment")
def test_without_any_the_whole_cluster_is_looked_after() -> None:
    settings = OperatorSettings()
    assert settings.namespaces == ()
    assert settings.lease_namespace == "default"
    assert settings.default_images.api == f"ghcr.io/ragbase/ragbase-api:{__version__}"


@pytest.mark.parametrize("text", ["a,b", " a , b ,", "a,,b"])
def test_namespaces_are_split_at_commas(environment: pytest.MonkeyPatch, text: str) -> None:
    environment.setenv("RAGBASE_OPERATOR_NAMESPACES", text)
    environment.setenv("RAGBASE_OPERATOR_NAMESPACE", "elsewhere")
    settings = OperatorSettings()
    assert settings.namespaces == ("a", "b")
    assert settings.lease_namespace == "a", "the Lease is where we watch"


def test_the_lease_of_a_cluster_wide_operator_is_in_its_own_namespace(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("RAGBASE_OPERATOR_NAMESPACE", "ragbase-system")
    assert OperatorSettings().lease_namespace == "ragbase-system"


def test_images_are_replaced_by_name(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("RAGBASE_OPERATOR_REGISTRY", "registry.example.com/mirror")
    environment.setenv("RAGBASE_OPERATOR_IMAGES", '{"paradedb": "registry.example.com/pg:1"}')
    images = OperatorSettings().default_images
    assert images.paradedb == "registry.example.com/pg:1"
    assert images.api.startswith("registry.example.com/mirror/")


def test_an_unknown_image_is_a_mistake(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("RAGBASE_OPERATOR_IMAGES", '{"postgres": "x"}')
    with pytest.raises(ValueError, match="unknown image"):
        _ = OperatorSettings().default_images


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEALTH_PORT", "65536"),
        ("RESYNC_SECONDS", "1"),
        ("RETRY_SECONDS", "0"),
        ("HEARTBEAT_SECONDS", "0"),
        ("WATCH_SILENCE_SECONDS", "0"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("IMAGES", "no json"),
    ],
)
def test_what_makes_no_sense_is_refused(
    environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    environment.setenv(f"RAGBASE_OPERATOR_{name}", value)
    with pytest.raises((ValidationError, ValueError), match=name.lower()):
        OperatorSettings()


def test_all_of_them_are_in_the_docs() -> None:
    told = set(re.findall(r"`([A-Z_]+)`", DOCS.read_text(encoding="utf-8")))
    assert {name.upper() for name in OperatorSettings.model_fields} <= told


def test_kopf_is_told_what_experience_asks_for() -> None:
    """Nothing is kept on objects, no log line becomes an Event, dead watches are noticed."""
    import kopf

    settings = kopf.OperatorSettings()
    configure(settings, namespaced=True, silence_s=70)
    assert settings.persistence.finalizer == "ragbase.dev/retention"
    assert settings.posting.enabled is False
    assert settings.posting.loggers is False
    assert settings.scanning.disabled is True
    watching = settings.watching
    assert (watching.server_timeout, watching.client_timeout) == (300, 310)
    assert watching.inactivity_timeout == 70
    assert settings.networking.request_timeout == 60
    assert settings.networking.enforce_retry_after is True
    assert 15 <= settings.execution.default_backoff <= 30
    assert settings.peering.standalone is True
