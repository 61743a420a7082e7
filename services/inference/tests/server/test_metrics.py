"""GET /metrics: TEI's names, in a format that Prometheus reads."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from .conftest import Serve
from .live import Live

COUNTERS = (
    "te_request_count",
    "te_request_success",
    "te_request_failure",
    "te_embed_count",
    "te_embed_success",
    "te_predict_count",
    "te_predict_success",
)
HISTOGRAMS = (
    *(
        f"te_{stage}_{part}duration"
        for stage in ("request", "embed", "predict")
        for part in ("", "tokenization_", "queue_", "inference_")
    ),
    "te_request_input_length",
    "te_batch_next_size",
    "te_batch_next_tokens",
)


def types(live: Live) -> dict[str, str]:
    lines = live.get("/metrics").text.splitlines()
    return dict(line.split()[2:4] for line in lines if line.startswith("# TYPE "))


def test_the_names_are_teis(serve: Serve) -> None:
    live = serve()
    live.post("/embed", {"inputs": "a"})
    found = types(live)
    assert {name for name, kind in found.items() if kind == "counter"} == {
        *COUNTERS,
        "process_cpu_seconds_total",
        "ragbase_inference_oom_splits_total",
    }
    assert {name for name, kind in found.items() if kind == "histogram"} == set(HISTOGRAMS)
    assert found["te_queue_size"] == "gauge"
    assert found["ragbase_inference_model_loaded"] == "gauge"
    assert "_created" not in live.get("/metrics").text


def test_prometheus_reads_it(serve: Serve) -> None:
    answer = serve().get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert set(HISTOGRAMS) <= names


def test_requests_and_their_inputs_are_counted(serve: Serve) -> None:
    live = serve()
    live.post("/embed", {"inputs": "a"})
    live.post("/embed", {"inputs": ["a", "b c"]})
    for line, value in {
        'te_request_count{method="single",model="default"}': 1,
        'te_request_count{method="batch",model="default"}': 1,
        'te_request_success{method="batch",model="default"}': 1,
        'te_embed_count{model="default"}': 3,
        'te_embed_success{model="default"}': 3,
        'te_embed_duration_count{model="default"}': 3,
        'te_request_duration_count{model="default"}': 2,
        'te_request_input_length_sum{model="default"}': 3 + 3 + 4,
        'te_batch_next_size_sum{model="default"}': 3,
    }.items():
        assert live.metric(line) == value, line


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/embed", {"inputs": []}, "validation"),
        ("/embed", {"inputs": [""]}, "tokenization"),
        ("/embed", {"inputs": ["a"] * 33}, "batch_size"),
        ("/embed", {"inputs": "a " * 99, "truncate": False}, "tokenization"),
        ("/embed", {"inputs": "a", "dimensions": 0}, "validation"),
        ("/rerank", {"query": "q", "texts": ["a"]}, "model_type"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, "validation"),
    ],
)
def test_failures_are_counted_by_reason(serve: Serve, path: str, body: object, reason: str) -> None:
    live = serve()
    assert live.post(path, body).status_code >= 400
    counts = {
        line.split('err="')[1].split('"')[0]: float(line.rpartition(" ")[2])
        for line in live.get("/metrics").text.splitlines()
        if line.startswith("te_request_failure{")
    }
    assert {name: count for name, count in counts.items() if count} == {reason: 1.0}


def test_what_was_not_understood_is_not_counted(serve: Serve) -> None:
    live = serve()
    live.http.post("/embed", content=b"{")
    assert live.metric('te_request_count{method="single",model="default"}') == 0


def test_buckets_are_teis(serve: Serve) -> None:
    bounds = [
        float(line.split('le="')[1].split('"')[0])
        for line in serve().get("/metrics").text.splitlines()
        if line.startswith("te_request_duration_bucket")
    ]
    assert len(bounds) == 36  # the last one is infinite
    assert bounds[0] == pytest.approx(1.5e-5)
    assert bounds[1] / bounds[0] == pytest.approx(1.5)
