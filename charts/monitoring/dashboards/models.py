"""Model servers: embedding, rerankers, entity recogniser; their devices."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import bars, lines
from charts.monitoring.queries import RATE, THIS, mean, per_second, quantile, share

__all__ = ["MODELS"]

_ASKED: Final = "ragbase_reranker_requests_total"
_FAULTS: Final = f'{THIS},outcome=~"timeout|unavailable|error|skipped"'
_MODEL: Final = "component, model"
_NAME: Final = "{{component}} {{model}}"

_RERANKERS: Final = Section(
    "Rerankers, as the API sees them",
    (
        lines(
            "Rankings by outcome",
            "`skipped`: left alone after failures.",
            "reqps",
            [(per_second(_ASKED, "model, outcome"), "{{model}} {{outcome}}")],
            stacked=True,
            width=8,
        ),
        lines(
            "Share that fails",
            "An alert fires at 10 %.",
            "percentunit",
            [
                (
                    share(per_second(_ASKED, "model", _FAULTS), per_second(_ASKED, "model")),
                    "{{model}}",
                )
            ],
            limit=0.1,
            width=8,
        ),
        lines(
            "Time of reranking in a search",
            "Half and 95 of a hundred are faster.",
            "s",
            [
                (
                    quantile(
                        q / 100,
                        "ragbase_search_stage_seconds",
                        matchers=f'{THIS},stage="rerank"',
                    ),
                    f"p{q}",
                )
                for q in (50, 95)
            ],
            limit=0.5,
            width=8,
        ),
    ),
)

_SERVERS: Final = Section(
    "Model servers",
    (
        lines(
            "Requests",
            "",
            "reqps",
            [(per_second("te_request_count", _MODEL), _NAME)],
            width=8,
        ),
        lines(
            "Time of a request, p95",
            "With tokenization and the wait for a batch.",
            "s",
            [(quantile(0.95, "te_request_duration", _MODEL), _NAME)],
            width=8,
        ),
        lines(
            "Failures by reason",
            "`overloaded` is more load than it takes, `inference` the model or its device; "
            "`dropped` are inputs whose caller went away.",
            "reqps",
            [(per_second("te_request_failure", "component, err"), "{{component}} {{err}}")],
            width=8,
        ),
        *(
            lines(
                f"{title}, mean by request",
                about,
                "s",
                [(mean(f"te_request_{part}duration", _MODEL), _NAME)],
                width=8,
            )
            for title, part, about in (
                ("Tokenization", "tokenization_", "On the processor."),
                ("Wait for a batch", "queue_", "Much of it: add replicas, or a faster device."),
                ("Inference", "inference_", "In the model."),
            )
        ),
    ),
)

_BATCHES: Final = Section(
    "Batches and memory",
    (
        lines(
            "Inputs that wait for a batch",
            "",
            "short",
            [(f"sum by ({_MODEL}) (te_queue_size{{{THIS}}})", _NAME)],
            width=6,
        ),
        lines(
            "Inputs a batch, mean",
            "",
            "short",
            [(mean("te_batch_next_size", _MODEL), _NAME)],
            width=6,
        ),
        lines(
            "Tokens a second",
            "With padding.",
            "short",
            [(per_second("te_batch_next_tokens_sum", _MODEL), _NAME)],
            width=6,
        ),
        lines(
            "Batches without room, in five minutes",
            "They were run in halves. An alert fires at more than three in half an hour.",
            "short",
            [
                (
                    f"sum by ({_MODEL}) (increase(ragbase_inference_oom_splits_total{{{THIS}}}[5m]))",
                    _NAME,
                )
            ],
            width=6,
        ),
        bars(
            "Models in memory",
            "Pods that hold it; a lazy model is loaded by its first request.",
            "short",
            [(f"sum by ({_MODEL}) (ragbase_inference_model_loaded{{{THIS}}})", _NAME)],
        ),
        lines(
            "Memory of models",
            "An estimate of what each holds, over all pods.",
            "bytes",
            [(f"sum by ({_MODEL}) (ragbase_inference_model_memory_bytes{{{THIS}}})", _NAME)],
        ),
    ),
)

_GPUS: Final = Section(
    "GPUs of the cluster (need AMD's Device Metrics Exporter, or NVIDIA's DCGM exporter)",
    (
        lines(
            "Use",
            "gpu_gfx_activity of AMD's exporter, DCGM_FI_DEV_GPU_UTIL of NVIDIA's, in per cent.",
            "percent",
            [
                ("avg by (hostname, gpu_id) (gpu_gfx_activity)", "{{hostname}} {{gpu_id}}"),
                ("avg by (Hostname, gpu) (DCGM_FI_DEV_GPU_UTIL)", "{{Hostname}} {{gpu}}"),
            ],
            most=100,
        ),
        lines(
            "Memory in use",
            "gpu_used_vram of AMD's exporter, DCGM_FI_DEV_FB_USED of NVIDIA's, in MiB.",
            "mbytes",
            [
                ("avg by (hostname, gpu_id) (gpu_used_vram)", "{{hostname}} {{gpu_id}}"),
                ("avg by (Hostname, gpu) (DCGM_FI_DEV_FB_USED)", "{{Hostname}} {{gpu}}"),
            ],
        ),
    ),
)

_PROCESSOR: Final = Section(
    "Processes",
    (
        lines(
            "Processor",
            "Seconds a second: 1 is a whole core. TEI does not tell.",
            "short",
            [
                (
                    "sum by (component, pod) (rate(process_cpu_seconds_total"
                    f'{{{THIS},component!~"api|worker|localrag"}}[{RATE}]))',
                    "{{pod}}",
                )
            ],
        ),
        lines(
            "Resident memory",
            "Of the process; a GPU's memory is above.",
            "bytes",
            [
                (
                    f'process_resident_memory_bytes{{{THIS},component!~"api|worker|localrag"}}',
                    "{{pod}}",
                )
            ],
        ),
    ),
)

MODELS: Final = Board(
    "models",
    "Rerankers and GPUs",
    "Model servers: embedding, rerankers, entity recogniser; their batches, memory and devices.",
    (_RERANKERS, _SERVERS, _BATCHES, _GPUS, _PROCESSOR),
)
