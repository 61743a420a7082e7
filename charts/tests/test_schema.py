"""A wrong value is refused by the schema, with its path; nothing is switched on by an accident."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.helm import Helm, HelmError
from ragbase_operator.charts.operator_values import DERIVED_SETTINGS, OperatorValues
from ragbase_operator.settings import OperatorSettings

from .objects import CHARTS

OPERATOR, RAGBASE = CHARTS / "ragbase-operator", CHARTS / "ragbase"
SAMPLES = sorted((CHARTS.parent / "crds" / "samples").glob("*.yaml"))
BLOCKS = sorted(yaml.safe_load((OPERATOR / "values.yaml").read_text()))
BOUND = yaml.safe_load((OPERATOR / "ci" / "everything-values.yaml").read_text())


def _refusal(helm: Helm, chart: Path, *settings: str) -> str:
    with pytest.raises(HelmError) as refused:
        helm.template("docs", chart, *settings)
    return str(refused.value)


@pytest.mark.parametrize(
    ("setting", "path", "word"),
    [
        ("--set=watch.namespace=default", "'/watch'", "'namespace' not allowed"),
        ("--set=replicas=2", "''", "'replicas' not allowed"),
        ("--set=image.pullPolicy=Sometimes", "'/image/pullPolicy'", "must be one of"),
        ("--set=image.digest=sha256:12", "'/image/digest'", "does not match pattern"),
        ("--set=settings.retrySeconds=0", "'/settings/retrySeconds'", "minimum"),
        ("--set=settings.logLevel=loud", "'/settings/logLevel'", "must be one of"),
        ("--set=settings.images.postgres=x", "'/settings/images'", "'postgres' not"),
        ("--set=crds.enabled=maybe", "'/crds/enabled'", "want boolean"),
        ("--set=pod.resources.limits.memory=much", "'/pod/resources/limits/memory'", "pattern"),
        ("--set=networkPolicy.apiServer.ports={0}", "'/networkPolicy/apiServer/ports/0'", "min"),
        ("--set=uninstall.timeoutSeconds=5", "'/uninstall/timeoutSeconds'", "minimum"),
        ("--set=watch.namespaces={Default}", "'/watch/namespaces/0'", "pattern"),
    ],
)
def test_a_wrong_value_of_the_operator_is_refused_with_its_path(
    helm: Helm, setting: str, path: str, word: str
) -> None:
    text = _refusal(helm, OPERATOR, setting)
    assert f"at {path}" in text
    assert word in text


@pytest.mark.parametrize(
    ("setting", "path", "word"),
    [
        ("--set=spec.replicas=2", "'/spec'", "'replicas' not allowed"),
        ("--set=spec.database.mode=sqlite", "'/spec/database/mode'", "must be one of"),
        ("--set=spec.database.storage.size=big", "'/spec/database/storage/size'", "pattern"),
        ("--set=spec.api.replicas=-1", "'/spec/api/replicas'", "minimum"),
        ("--set=spec.rerankers[0].engine=tei", "'/spec/rerankers/0'", "name"),
        ("--set=spec.database.resources.limits.memory=1.5.1", "limits/memory'", "pattern"),
        ("--set=secrets.db.data.uri=x", "'/secrets/db'", "'data' not allowed"),
        ("--set=name=-docs", "'/name'", "pattern"),
    ],
)
def test_a_wrong_value_of_a_ragbase_is_refused_with_its_path(
    helm: Helm, setting: str, path: str, word: str
) -> None:
    text = _refusal(helm, RAGBASE, setting)
    assert path in text
    assert word in text


@pytest.mark.parametrize("block", BLOCKS)
def test_a_null_block_is_an_error_that_names_it(helm: Helm, block: str) -> None:
    """B119: null neither unsets a default unseen nor switches something on."""
    assert f"missing property '{block}'" in _refusal(helm, OPERATOR, f"--set={block}=null")


@pytest.mark.parametrize(
    ("flag", "kinds"),
    [
        ("crds.enabled", {"CustomResourceDefinition"}),
        ("networkPolicy.enabled", {"NetworkPolicy"}),
        ("uninstall.enabled", {"Job"}),  # and a policy of its pod
        ("serviceAccount.create", set()),
        ("rbac.aggregate", set()),
        ("metrics.serviceMonitor.enabled", {"ServiceMonitor"}),
        ("metrics.prometheusRule.enabled", {"PrometheusRule"}),
        ("metrics.dashboards.enabled", {"ConfigMap"}),
    ],
)
def test_off_means_no_object_of_it_and_the_rest_is_the_same(
    helm: Helm, tmp_path: Path, flag: str, kinds: set[str]
) -> None:
    """B119: off means off, and nothing else changes."""
    on, off = (_with(helm, tmp_path, flag, value) for value in (True, False))
    gone = {name for name in on if name not in off}
    assert gone
    assert off.keys() <= on.keys()
    assert not kinds & {kind for kind, _ in off}
    assert kinds <= {kind for kind, _ in gone}
    changed = {name for name in off if off[name] != on[name]}
    # Without an account of its own, the pod runs as another: that is the point of the flag.
    assert flag == "serviceAccount.create" or changed == set()


def _with(helm: Helm, folder: Path, flag: str, value: bool) -> dict[tuple[str, str], Any]:
    """Objects by kind and name, all of them on but for the flag."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(BOUND))
    text = json.dumps(value)
    objects = helm.template("docs", OPERATOR, "--values", str(path), f"--set={flag}={text}")
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_spec_of_every_sample_passes_as_it_is(helm: Helm, tmp_path: Path, sample: Path) -> None:
    documents = [each for each in yaml.safe_load_all(sample.read_text()) if each]
    ragbases = [each for each in documents if each["kind"] == "RagBase"]
    for each in ragbases:
        values = tmp_path / "values.yaml"
        values.write_text(yaml.safe_dump({"spec": each.get("spec", {})}))
        (rendered,) = helm.template("docs", RAGBASE, "--values", str(values))
        assert rendered.get("spec", {}) == each.get("spec", {})


def test_a_parent_chart_may_set_global(helm: Helm) -> None:
    for chart in (OPERATOR, RAGBASE):
        assert helm.template("docs", chart, "--set=global.anything=1")


def test_every_setting_of_the_operator_is_a_value_or_derived(helm: Helm) -> None:
    """Each reaches the container under the name that the operator reads."""
    (deployment,) = [
        each for each in helm.template("docs", OPERATOR) if each["kind"] == "Deployment"
    ]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = {each["name"].removeprefix("RAGBASE_OPERATOR_").lower() for each in container["env"]}
    ports = {"host", "health_port", "metrics_port"}
    assert given | ports | {"images"} == set(OperatorSettings.model_fields)
    assert {"namespace", "namespaces"} | ports == DERIVED_SETTINGS
    assert {each["name"]: each["containerPort"] for each in container["ports"]} == {
        "health": OperatorSettings.model_fields["health_port"].default,
        "metrics": OperatorSettings.model_fields["metrics_port"].default,
    }


def test_the_file_of_everything_changes_every_value_that_it_can() -> None:
    """So what is rendered from it shows each value at work."""
    default = OperatorValues().model_dump(mode="json", by_alias=True)
    same = {"nameOverride", "watch", "rbac"}  # the other files are about these
    assert {key for key in default if key not in BOUND} == same
