"""The generated files of the charts: of this version, and none is stale."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from ragbase_operator import __version__
from ragbase_operator.builders.images import default_images
from ragbase_operator.charts.__main__ import main
from ragbase_operator.charts.operator_values import OperatorValues
from ragbase_operator.charts.pages import pages, stale, with_table, with_version
from ragbase_operator.charts.ragbase_values import RagBaseValues
from ragbase_operator.charts.values_file import values_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the generator reads and writes."""
    for chart in ("ragbase-operator", "ragbase"):
        shutil.copytree(ROOT / "charts" / chart, tmp_path / "charts" / chart)
    return tmp_path


def test_none_is_out_of_date() -> None:
    assert stale(ROOT) == []


def test_a_file_that_is_edited_removed_or_too_many_is_named_and_mended(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    charts = checkout / "charts" / "ragbase-operator"
    (charts / "values.yaml").write_text("{}\n")
    (charts / "files" / "rbac" / "view.yaml").unlink()
    (charts / "files" / "crds" / "ragbase.dev_old.yaml").write_text("{}\n")
    assert main(["--root", str(checkout), "--check"]) == 1
    told = capsys.readouterr().err
    for name in ("values.yaml", "view.yaml", "ragbase.dev_old.yaml", "make charts"):
        assert name in told
    assert main(["--root", str(checkout)]) == 0
    assert main(["--root", str(checkout), "--check"]) == 0


def test_copies_of_crds_are_the_files_of_the_repository() -> None:
    crds = sorted((ROOT / "crds").glob("*.yaml"))
    copies = sorted((ROOT / "charts/ragbase-operator/files/crds").glob("*.yaml"))
    assert [path.name for path in copies] == [path.name for path in crds]
    assert [path.read_bytes() for path in copies] == [path.read_bytes() for path in crds]


@pytest.mark.parametrize("chart", ["ragbase-operator", "ragbase"])
def test_a_chart_has_the_products_version(chart: str) -> None:
    about = yaml.safe_load((ROOT / "charts" / chart / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == __version__


def test_version_and_table_leave_what_is_around_them() -> None:
    text = 'name: x\nversion: 1\nappVersion: "1"\nkubeVersion: ">=1"\n'
    assert with_version(text, "2.0.0") == (
        'name: x\nversion: 2.0.0\nappVersion: "2.0.0"\nkubeVersion: ">=1"\n'
    )
    first, last = "<!-- values: made by `make charts` -->\n", "<!-- end of values -->\n"
    written = with_table(f"before\n{first}old\n{last}after\n", "new\n")
    assert written == f"before\n{first}\nnew\n\n{last}after\n"
    assert with_table(written, "new\n") == written
    with pytest.raises(ValueError, match="needs the lines"):
        with_table("no marks", "new\n")


@pytest.mark.parametrize(
    ("chart", "model"), [("ragbase-operator", OperatorValues), ("ragbase", RagBaseValues)]
)
def test_values_are_the_defaults_of_the_models_each_with_its_meaning(
    chart: str, model: type[OperatorValues | RagBaseValues]
) -> None:
    text = pages(ROOT)[f"charts/{chart}/values.yaml"]
    assert yaml.safe_load(text) == model().model_dump(mode="json", by_alias=True)
    readme = (ROOT / "charts" / chart / "README.md").read_text()
    for value in values_of(model):
        assert value.schema["description"], value.path
        if not value.is_group:
            assert f"| `{'.'.join(value.path)}` |" in readme


def test_the_page_of_installation_names_every_image() -> None:
    """What has to be copied to a registry where there is no internet."""
    page = (ROOT / "docs" / "install.md").read_text()
    images = default_images("ghcr.io/ragbase", __version__)
    named = [getattr(images, name) for name in images.__slots__]
    assert [image for image in named if f"`{image}`" not in page] == []
