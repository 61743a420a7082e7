"""Series that make an alert fire, and such as must not; what it then says."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["CASES", "QUIET", "Case", "Quiet"]

S = 'namespace="search",ragbase="docs"'
AT = {"namespace": "search", "ragbase": "docs"}
Input = dict[str, str]
"""Series, and their values a minute (an hour, where it takes days) apart in promtool's notation."""


@dataclass(frozen=True)
class Case:
    """An alert fires at ``minutes``, with these labels and words."""

    alert: str
    minutes: int
    series: Input
    summary: str
    description: str
    labels: dict[str, str] = field(default_factory=lambda: dict(AT))


@dataclass(frozen=True)
class Quiet:
    """At ``minutes`` nothing fires under this name."""

    alert: str
    why: str
    minutes: int
    series: Input


def _http(ok: str, failed: str) -> Input:
    route = f'ragbase_http_requests_total{{{S},method="POST",route="/v1/search"'
    return {f'{route},status="200"}}': ok, f'{route},status="503"}}': failed}


def _searches(fast: str, whole: str) -> Input:
    search = f'{{{S},mode="hybrid"'
    return {
        f'ragbase_search_seconds_bucket{search},le="0.5"}}': fast,
        f'ragbase_search_seconds_bucket{search},le="+Inf"}}': whole,
        f"ragbase_search_seconds_count{search}}}": whole,
    }


_OBJECTS = "ragbase_operator_objects"
_BEAT = {"ragbase_operator_watch_age_seconds": "3x60"}

CASES = (
    Case(
        "RagBaseErrorBudgetBurnFast",
        65,
        _http("0+90x70", "0+10x70"),
        "search/docs: many requests fail.",
        "10% of the requests of the last hour were answered 5xx; the objective is 99.5% without. "
        "Look at the log of the API.",
    ),
    Case(
        "RagBaseErrorBudgetBurnSlow",
        380,
        _http("0+95x390", "0+5x390"),
        "search/docs: requests go on failing.",
        "5% of the requests of the last six hours were answered 5xx; the objective is 99.5% "
        "without.",
    ),
    Case(
        "RagBaseSearchSlow",
        75,
        _searches("0+90x80", "0+100x80"),
        "search/docs: hybrid searches are slow.",
        "Only 90% of the hybrid searches of the last hour were within their target; the objective "
        "is 95%. The dashboard of searches shows which stage takes the time.",
        {**AT, "mode": "hybrid"},
    ),
    Case(
        "RagBaseApiDown",
        10,
        {
            f'up{{{S},component="api",pod="a"}}': "0x20",
            f'up{{{S},component="api",pod="b"}}': "0x20",
        },
        "search/docs: no pod of the API answers.",
        "Nobody can search or ingest. Look at the pods of the API and the conditions of the "
        "RagBase.",
    ),
    Case(
        "RagBaseApiDown",
        40,
        {f'up{{{S},component="api",pod="a"}}': "1x30 stale"},
        "search/docs: no pod of the API answers.",
        "Nobody can search or ingest. Look at the pods of the API and the conditions of the "
        "RagBase.",
    ),
    Case(
        "RagBaseDatabaseDown",
        5,
        {f'ragbase_dependency_up{{{S},dependency="postgres",pod="a"}}': "0x20"},
        "search/docs: Postgres does not answer.",
        "Every request that needs data is answered 503.",
    ),
    Case(
        "RagBaseDependencyDown",
        10,
        {
            f'ragbase_dependency_up{{{S},dependency="embedding",pod="a"}}': "0x20",
            f'ragbase_dependency_up{{{S},dependency="embedding",pod="b"}}': "1x20",
        },
        "search/docs: embedding does not answer.",
        "Searches go on without it, and say so. At least one pod of the API cannot reach "
        "embedding.",
        {**AT, "dependency": "embedding"},
    ),
    Case(
        "RagBaseTargetDown",
        15,
        {
            f'up{{{S},component="worker",pod="a"}}': "0x20",
            f'up{{{S},component="worker",pod="b"}}': "0x20",
            f'up{{{S},component="worker",pod="c"}}': "1x20",
        },
        "search/docs: pods of worker cannot be scraped.",
        "2 of its pods do not answer Prometheus: they are down, or a NetworkPolicy keeps "
        "Prometheus out.",
        {**AT, "component": "worker"},
    ),
    Case(
        "RagBaseShedding",
        20,
        {f'ragbase_http_shed_total{{{S},pod="a"}}': "0+60x30"},
        "search/docs: requests are answered 429.",
        "1 requests a second are turned away: more come than replicas of the API may have in "
        "flight.",
    ),
    Case(
        "RagBaseDegraded",
        30,
        {
            f'ragbase_degraded_total{{{S},reason="rerank_timeout"}}': "0+10x40",
            **_searches("0+100x40", "0+100x40"),
        },
        "search/docs: answers are degraded, rerank_timeout.",
        "10% of the searches go without something that is configured.",
        {**AT, "reason": "rerank_timeout"},
    ),
    Case(
        "RagBaseRerankerFailing",
        20,
        {
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="ok"}}': "0+75x30",
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="timeout"}}': "0+20x30",
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="skipped"}}': "0+5x30",
        },
        "search/docs: the reranker bge fails.",
        "25% of its rankings fail; those searches keep their fused order, or take another "
        "reranker.",
        {**AT, "model": "bge"},
    ),
    Case(
        "RagBaseJobsWaiting",
        20,
        {
            f'ragbase_job_oldest_seconds{{{S},kind="ingest",pod="a"}}': "7200x30",
            f'ragbase_job_oldest_seconds{{{S},kind="ingest",pod="b"}}': "7200x30",
        },
        "search/docs: jobs of kind ingest wait.",
        "The oldest has waited for 2h 0m 0s: no worker runs, or there are too few.",
        {**AT, "kind": "ingest"},
    ),
    Case(
        "RagBaseIngestFailing",
        30,
        {
            f'ragbase_ingest_documents_total{{{S},outcome="created"}}': "0+80x40",
            f'ragbase_ingest_documents_total{{{S},outcome="failed"}}': "0+20x40",
        },
        "search/docs: documents cannot be stored.",
        "20% of the documents of the last 15 minutes failed for a reason that is ours.",
    ),
    Case(
        "RagBasePoolExhausted",
        20,
        {
            f'ragbase_db_pool_wait_seconds_bucket{{{S},pod="a",le="1.0"}}': "0x30",
            f'ragbase_db_pool_wait_seconds_bucket{{{S},pod="a",le="2.0"}}': "0+100x30",
            f'ragbase_db_pool_wait_seconds_bucket{{{S},pod="a",le="+Inf"}}': "0+100x30",
        },
        "search/docs: requests wait for a connection to Postgres.",
        "In a one wait in twenty is longer than 1.95s: statements are slow, or the pool is small.",
        {**AT, "pod": "a"},
    ),
    Case(
        "RagBaseModelServerFailing",
        20,
        {
            f'te_request_failure{{{S},component="embedding",err="overloaded"}}': "0+20x30",
            f'te_request_failure{{{S},component="embedding",err="validation"}}': "0+80x30",
            f'te_request_count{{{S},component="embedding",method="batch"}}': "0+200x30",
        },
        "search/docs: embedding fails requests.",
        "10% of its requests fail: the model, the device, or more load than it takes.",
        {**AT, "component": "embedding"},
    ),
    Case(
        "RagBaseModelServerOutOfMemory",
        35,
        {
            f'ragbase_inference_oom_splits_total{{{S},component="reranker-bge",model="bge"}}': (
                "0+1x40"
            )
        },
        "search/docs: reranker-bge runs out of memory.",
        "Batches of bge found no room 30 times in half an hour and were run in halves, which "
        "takes longer.",
        {**AT, "component": "reranker-bge", "model": "bge"},
    ),
    Case(
        "RagBaseJobsFailing",
        90,
        {
            f'ragbase_jobs{{{S},kind="graph",state="failed",pod="a"}}': "2x20 2+1x80",
            f'ragbase_jobs{{{S},kind="graph",state="failed",pod="b"}}': "2x20 2+1x80",
        },
        "search/docs: jobs of kind graph are given up.",
        "60 in the last hour; each has its reason, and can be tried again.",
        {**AT, "kind": "graph"},
    ),
    Case(
        "RagBaseLlmFailing",
        40,
        {
            f'ragbase_llm_requests_total{{{S},purpose="extraction",outcome="ok"}}': "0+15x50",
            f'ragbase_llm_requests_total{{{S},purpose="extraction",outcome="timeout"}}': "0+4x50",
            f'ragbase_llm_requests_total{{{S},purpose="extraction",outcome="skipped"}}': "0+1x50",
        },
        "search/docs: the language model fails, extraction.",
        "25% of what it is asked fails; documents are searchable all the same, without what it "
        "should add.",
        {**AT, "purpose": "extraction"},
    ),
    Case(
        "RagBaseProjectionLagging",
        60,
        {
            f'ragbase_projection_lag_rows{{{S},component="worker",pod="a"}}': "5000x80",
            f'ragbase_projection_lag_rows{{{S},component="worker",pod="b"}}': "4800x80",
        },
        "search/docs: Memgraph lags behind the graph.",
        "For half an hour never fewer than 5k changes have waited for it; Postgres has them all.",
    ),
    Case(
        "RagBaseOperatorDown",
        10,
        {"up": "1x20"},
        "The operator of RagBase does not run, or cannot be scraped.",
        "What runs goes on; changes, healing and backups by resource wait for it.",
        {},
    ),
    Case(
        "RagBaseOperatorWatchStale",
        10,
        {'ragbase_operator_watch_age_seconds{pod="o"}': "0+60x20"},
        "The operator of RagBase sees no changes.",
        "Its own heartbeat came last through its watch 10m 0s ago; its liveness probe should have "
        "restarted it.",
        {"pod": "o"},
    ),
    Case(
        "RagBaseOperatorReconcileStalled",
        30,
        {
            "ragbase_operator_last_success_timestamp_seconds": "60x40",
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="True"}}': "2x40",
        },
        "The operator of RagBase comes to no end of a pass.",
        "The last one was 29m 0s ago; each resource is looked at every few minutes.",
        {},
    ),
    Case(
        "RagBaseOperatorReconcileFailing",
        30,
        {
            'ragbase_operator_reconcile_total{kind="RagBase",result="error"}': "0+3x40",
            'ragbase_operator_reconcile_total{kind="RagBase",result="ready"}': "0+1x40",
        },
        "Passes over RagBase fail.",
        "75% of them break off; the log of the operator says why.",
        {"kind": "RagBase"},
    ),
    Case(
        "RagBaseOperatorApplyFailing",
        30,
        {'ragbase_operator_apply_total{kind="Deployment",outcome="failed"}': "0+1x40"},
        "Objects of kind Deployment cannot be applied.",
        "The API server refuses them; the conditions of the RagBase have its words.",
        {"kind": "Deployment"},
    ),
    Case(
        "RagBaseNotReady",
        20,
        {
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="True"}}': "4x30",
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="False"}}': "2x30",
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="Unknown"}}': "1x30",
        },
        "3 RagBases are not Ready.",
        "`kubectl get rb -A` shows which, and their conditions say what to do.",
        {},
    ),
    Case(
        "RagBaseReindexRequired",
        40,
        {f'{_OBJECTS}{{kind="RagBase",condition="ReindexRequired",status="True"}}': "1x50"},
        "1 RagBases hold back a change of their embedding model.",
        "The old model goes on serving until documents are ingested again, or it is put back.",
        {},
    ),
    Case(
        "RagBaseTaskFailed",
        1,
        {f'{_OBJECTS}{{kind="RagBaseBackup",condition="Failed",status="True"}}': "1x5"},
        "1 of kind RagBaseBackup failed.",
        "Its condition Failed says why; delete it when that is mended.",
        {"kind": "RagBaseBackup"},
    ),
    Case(
        "RagBaseBackupOverdue",
        9 * 24 * 60,
        {f"ragbase_operator_last_backup_timestamp_seconds{{{S}}}": "0x230"},
        "search/docs: no backup for more than a week.",
        "The last one ended 9d 0h 0m 0s ago.",
    ),
)

QUIET = (
    Quiet(
        "RagBaseErrorBudgetBurnFast", "the errors are over", 75, _http("0+90x80", "0+10x60 600x20")
    ),
    Quiet("RagBaseErrorBudgetBurnFast", "one request in a hundred", 70, _http("0+99x80", "0+1x80")),
    Quiet(
        "RagBaseErrorBudgetBurnFast",
        "probes are no users",
        70,
        {
            f'ragbase_http_requests_total{{{S},method="GET",route="/health/ready",status="503"}}': "0+9x80",
            **_http("0+99x80", "0x80"),
        },
    ),
    Quiet("RagBaseErrorBudgetBurnSlow", "nothing is asked", 380, _http("5x390", "5x390")),
    Quiet("RagBaseSearchSlow", "96 of a hundred are in time", 75, _searches("0+96x80", "0+100x80")),
    Quiet("RagBaseSearchSlow", "nobody searches", 75, _searches("9x80", "10x80")),
    Quiet(
        "RagBaseApiDown",
        "one pod of two is up",
        10,
        {
            f'up{{{S},component="api",pod="a"}}': "0x20",
            f'up{{{S},component="api",pod="b"}}': "1x20",
        },
    ),
    Quiet(
        "RagBaseApiDown",
        "a roll-out replaced the pods",
        40,
        {
            f'up{{{S},component="api",pod="a"}}': "1x20 stale",
            f'up{{{S},component="api",pod="b"}}': "_x20 1x30",
        },
    ),
    Quiet(
        "RagBaseDatabaseDown",
        "one pod of two reaches it",
        5,
        {
            f'ragbase_dependency_up{{{S},dependency="postgres",pod="a"}}': "0x20",
            f'ragbase_dependency_up{{{S},dependency="postgres",pod="b"}}': "1x20",
        },
    ),
    Quiet(
        "RagBaseDependencyDown",
        "the database has its own alert",
        10,
        {f'ragbase_dependency_up{{{S},dependency="postgres",pod="a"}}': "0x20"},
    ),
    Quiet(
        "RagBaseDegraded",
        "one search in a hundred",
        30,
        {
            f'ragbase_degraded_total{{{S},reason="rerank_timeout"}}': "0+1x40",
            **_searches("0+100x40", "0+100x40"),
        },
    ),
    Quiet(
        "RagBaseRerankerFailing",
        "callers who went away, or sent nonsense",
        20,
        {
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="ok"}}': "0+50x30",
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="cancelled"}}': "0+25x30",
            f'ragbase_reranker_requests_total{{{S},model="bge",outcome="refused"}}': "0+25x30",
        },
    ),
    Quiet(
        "RagBaseJobsWaiting",
        "half an hour is no hour",
        20,
        {f'ragbase_job_oldest_seconds{{{S},kind="ingest"}}': "1800x30"},
    ),
    Quiet(
        "RagBaseIngestFailing",
        "rejected documents are their senders'",
        30,
        {
            f'ragbase_ingest_documents_total{{{S},outcome="created"}}': "0+10x40",
            f'ragbase_ingest_documents_total{{{S},outcome="rejected"}}': "0+90x40",
        },
    ),
    Quiet(
        "RagBaseModelServerFailing",
        "refused inputs are their senders'",
        20,
        {
            f'te_request_failure{{{S},component="embedding",err="validation"}}': "0+80x30",
            f'te_request_count{{{S},component="embedding",method="batch"}}': "0+100x30",
        },
    ),
    Quiet(
        "RagBaseJobsFailing",
        "old failures are kept for a week",
        90,
        {f'ragbase_jobs{{{S},kind="graph",state="failed"}}': "200x100"},
    ),
    Quiet(
        "RagBaseLlmFailing",
        "texts that are too long, or callers who went away",
        40,
        {
            f'ragbase_llm_requests_total{{{S},purpose="contextual",outcome="ok"}}': "0+50x50",
            f'ragbase_llm_requests_total{{{S},purpose="contextual",outcome="too_long"}}': "0+25x50",
            f'ragbase_llm_requests_total{{{S},purpose="contextual",outcome="cancelled"}}': "0+25x50",
        },
    ),
    Quiet(
        "RagBaseProjectionLagging",
        "a large ingest that is followed",
        60,
        {f"ragbase_projection_lag_rows{{{S}}}": "0x20 90000x10 20000x10 300x30"},
    ),
    Quiet("RagBaseOperatorDown", "it is there", 10, _BEAT),
    Quiet("RagBaseOperatorWatchStale", "a heartbeat every half minute", 10, _BEAT),
    Quiet(
        "RagBaseOperatorReconcileStalled",
        "there is nothing to look at",
        30,
        {"ragbase_operator_last_success_timestamp_seconds": "60x40"},
    ),
    Quiet(
        "RagBaseNotReady",
        "all are",
        20,
        {
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="True"}}': "4x30",
            f'{_OBJECTS}{{kind="RagBase",condition="Ready",status="False"}}': "0x30",
        },
    ),
    Quiet(
        "RagBaseTaskFailed",
        "done is not failed",
        2,
        {
            f'{_OBJECTS}{{kind="RagBaseBackup",condition="Complete",status="True"}}': "1x5",
            f'{_OBJECTS}{{kind="RagBaseBackup",condition="Failed",status="False"}}': "1x5",
        },
    ),
    Quiet(
        "RagBaseBackupOverdue",
        "never backed up is a choice",
        9 * 24 * 60,
        _BEAT,
    ),
)
