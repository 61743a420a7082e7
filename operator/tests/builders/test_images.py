"""Images and quantities."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ragbase_operator.builders.images import default_images, image_reference
from ragbase_operator.builders.quantities import amount, cpus_of, memory_mib, mib
from ragbase_operator.models.pods import Image, Resources

DIGEST = "sha256:" + "a" * 64
DEFAULT = "registry.example.com:5000/team/app:1.0"


@pytest.mark.parametrize(
    ("given", "default", "expected"),
    [
        ({}, DEFAULT, DEFAULT),
        ({"tag": "2.0"}, DEFAULT, "registry.example.com:5000/team/app:2.0"),
        ({"repository": "other/app"}, DEFAULT, "other/app:1.0"),
        ({"repository": "host:5000/app", "tag": "2"}, DEFAULT, "host:5000/app:2"),
        ({"digest": DIGEST}, DEFAULT, f"registry.example.com:5000/team/app@{DIGEST}"),
        ({"tag": "2.0", "digest": DIGEST}, DEFAULT, f"registry.example.com:5000/team/app@{DIGEST}"),
        ({}, f"{DEFAULT}@{DIGEST}", f"{DEFAULT}@{DIGEST}"),
        ({"tag": "2.0"}, f"{DEFAULT}@{DIGEST}", "registry.example.com:5000/team/app:2.0"),
        ({"repository": "other"}, f"{DEFAULT}@{DIGEST}", "other:1.0"),
        (
            {"tag": "1"},
            "registry.example.com:5000/team/app",
            "registry.example.com:5000/team/app:1",
        ),
    ],
)
def test_what_the_spec_says_wins(given: dict[str, str], default: str, expected: str) -> None:
    assert image_reference(Image.model_validate(given), default) == expected


def test_images_of_a_release_are_pinned() -> None:
    """A tag that moves would change a database under a pod that restarts."""
    images = default_images("registry.example.com/team/", "1.2.3")
    assert images.api == "registry.example.com/team/ragbase-api:1.2.3"
    assert images.inference_rocm == "registry.example.com/team/ragbase-inference:1.2.3-rocm"
    for reference in (images.paradedb, images.memgraph, images.tei_cpu, images.tei_cuda):
        assert any(sign.isdigit() for sign in reference.rpartition(":")[2])


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("500m", "0.5"),
        ("2", "2"),
        ("1.5", "1.5"),
        ("2k", "2000"),
        ("1Ki", "1024"),
        ("3M", "3000000"),
    ],
)
def test_quantities(quantity: str, value: str) -> None:
    assert amount(quantity) == Decimal(value)


def test_what_a_container_has() -> None:
    """The limit counts, else the request, else the least."""
    both = Resources(requests={"memory": "1Gi", "cpu": "100m"}, limits={"memory": "2Gi"})
    assert (memory_mib(both), cpus_of(both)) == (2048, 1)
    assert (memory_mib(Resources()), cpus_of(Resources())) == (1024, 1)
    assert cpus_of(Resources(limits={"cpu": "2500m"})) == 3
    assert mib("1G") == 953
