"""Each CEL rule with one accepted and one rejected object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragbase_operator.models.kinds import BACKUP, BENCHMARK, RAGBASE, RESTORE, Kind

__all__ = ["CASES", "Case"]

Spec = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A rule: where it is checked, some of its message, and specs that keep and break it.

    ``old`` is the spec before, of rules about a change.
    """

    kind: Kind
    where: str
    message: str
    accepted: Spec
    rejected: Spec
    old: Spec | None = None

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.message}"


def rule(where: str, message: str, *, accepted: Spec, rejected: Spec) -> Case:
    return Case(RAGBASE, where, message, accepted, rejected)


def change(where: str, message: str, *, old: Spec, accepted: Spec, rejected: Spec) -> Case:
    return Case(RAGBASE, where, message, accepted, rejected, old)


def rerankers(*each: Spec) -> Spec:
    return {"rerankers": list(each)}


def wrapped(path: str, inner: Spec) -> Spec:
    for name in reversed(path.split(".")):
        inner = {name: inner}
    return inner


NVIDIA = {"resourceName": "nvidia.com/gpu", "nodeSelector": {}}
POSTGRES = {"secretRef": {"name": "postgres"}}
URL = {"url": "https://models.example.com"}
LLM = {"baseUrl": "https://llm.example.com/v1", "model": "m"}
OWN = {"name": "a", "engine": "ragbase"}

DATABASE = [
    change(
        "spec.database",
        "the database mode is set once",
        old={"database": {"mode": "managed"}},
        accepted={"database": {"mode": "managed", "lexical": "native"}},
        rejected={"database": {"mode": "cnpg"}},
    ),
    rule(
        "spec.database",
        "give `external` with mode external",
        accepted={"database": {"mode": "external", "external": POSTGRES}},
        rejected={"database": {"mode": "external"}},
    ),
    rule(
        "spec.database",
        "give `external` with mode external",
        accepted={"database": {"mode": "managed"}},
        rejected={"database": {"mode": "managed", "external": POSTGRES}},
    ),
    rule(
        "spec.database",
        "pg_search does not replicate",
        accepted={"database": {"mode": "cnpg", "lexical": "native", "cnpg": {"instances": 3}}},
        rejected={"database": {"mode": "cnpg", "lexical": "paradedb", "cnpg": {"instances": 3}}},
    ),
]


def storage(path: str, part: str = "") -> list[Case]:
    """``part``: what must be enabled for the volume to be there, and has its rules."""

    def size(text: str) -> Spec:
        return whole({"size": text})

    def klass(name: str) -> Spec:
        return whole({"size": "30Gi", "storageClassName": name})

    def whole(volume: Spec) -> Spec:
        spec = wrapped(path, volume)
        if part:
            spec[part]["enabled"] = True
        return spec

    where, once = f"spec.{part or path}", "the storage class of a volume is set once"
    return [
        change(where, once, old=klass("a"), accepted=klass("a"), rejected=klass("b")),
        change(where, once, old=size("30Gi"), accepted=size("40Gi"), rejected=klass("a")),
        change(where, once, old=klass("a"), accepted=klass("a"), rejected=size("30Gi")),
        change(
            where,
            "a volume can only grow",
            old=size("30Gi"),
            accepted=size("30720Mi"),
            rejected=size("29.9Gi"),
        ),
    ]


MODEL_SERVERS = [
    rule(
        "spec.embeddings",
        "TEI has no ROCm image",
        accepted={"embeddings": {"engine": "ragbase", "device": "rocm"}},
        rejected={"embeddings": {"engine": "tei", "device": "rocm"}},
    ),
    rule(
        "spec.embeddings",
        "the defaults of `gpu` are AMD's",
        accepted={"embeddings": {"device": "cuda", "gpu": NVIDIA}},
        rejected={"embeddings": {"device": "cuda"}},
    ),
    rule(
        "spec.embeddings",
        "engine openai needs",
        accepted={"embeddings": {"engine": "openai", "external": URL}},
        rejected={"embeddings": {"engine": "openai"}},
    ),
    rule(
        "spec.rerankers[0]",
        "TEI has no ROCm image",
        accepted=rerankers({**OWN, "device": "rocm"}),
        rejected=rerankers({"name": "a", "device": "rocm"}),
    ),
    rule(
        "spec.rerankers[0]",
        "TEI cannot run Qwen",
        accepted=rerankers({**OWN, "model": "Qwen/Qwen3-Reranker-4B"}),
        rejected=rerankers({"name": "a", "engine": "tei", "model": "Qwen/Qwen3-Reranker-4B"}),
    ),
    rule(
        "spec.rerankers[0]",
        "the defaults of `gpu` are AMD's",
        accepted=rerankers({"name": "a", "device": "cuda", "gpu": NVIDIA}),
        rejected=rerankers({"name": "a", "device": "cuda", "gpu": {"nodeSelector": {}}}),
    ),
    rule(
        "spec.rerankers[0]",
        "only a reranker of engine ragbase",
        accepted=rerankers({**OWN, "name": "b", "shareWith": "a"}, OWN),
        rejected=rerankers({"name": "b", "engine": "tei", "shareWith": "a"}, OWN),
    ),
    rule(
        "spec.rerankers[0]",
        "only a reranker of engine ragbase",
        accepted=rerankers({**OWN, "external": URL}),
        rejected=rerankers({**OWN, "name": "b", "shareWith": "a", "external": URL}, OWN),
    ),
    rule(
        "spec",
        "shareWith must name",
        accepted=rerankers({**OWN, "name": "b", "shareWith": "a"}, OWN),
        rejected=rerankers({**OWN, "name": "b", "shareWith": "other"}, OWN),
    ),
    rule(
        "spec",
        "shareWith must name",
        accepted=rerankers(
            {**OWN, "name": "b", "shareWith": "a", "device": "rocm"}, {**OWN, "device": "rocm"}
        ),
        rejected=rerankers({**OWN, "name": "b", "shareWith": "a", "device": "rocm"}, OWN),
    ),
    rule(
        "spec",
        "fallback must name",
        accepted=rerankers({**OWN, "name": "b", "fallback": "a"}, OWN),
        rejected=rerankers({**OWN, "name": "b", "fallback": "b"}, OWN),
    ),
]

OTHERS = [
    rule(
        "spec.graph.ner",
        "engine gliner needs torch",
        accepted={"graph": {"ner": {"engine": "gliner", "image": {"tag": "0.1.0-cpu-torch"}}}},
        rejected={"graph": {"ner": {"engine": "gliner"}}},
    ),
    rule(
        "spec.graph.ner",
        "engine gliner needs torch",
        accepted={"graph": {"ner": {"engine": "gliner", "device": "rocm"}}},
        rejected={"graph": {"ner": {"engine": "gliner", "image": {"pullPolicy": "Always"}}}},
    ),
    rule(
        "spec.graph.ner",
        "the defaults of `gpu` are AMD's",
        accepted={"graph": {"ner": {"engine": "gliner", "device": "cuda", "gpu": NVIDIA}}},
        rejected={"graph": {"ner": {"engine": "gliner", "device": "cuda"}}},
    ),
    rule(
        "spec.localrag",
        "more than one pod needs `existingClaim`",
        accepted={"localrag": {"enabled": True, "replicas": 2, "existingClaim": "models"}},
        rejected={"localrag": {"enabled": True, "replicas": 2}},
    ),
    rule(
        "spec",
        "graph.extraction llm needs",
        accepted={"graph": {"enabled": True, "extraction": "llm"}, "llm": LLM},
        rejected={"graph": {"enabled": True, "extraction": "llm"}},
    ),
    rule(
        "spec",
        "graph.extraction llm needs",
        accepted={"graph": {"enabled": False, "extraction": "llm"}},
        rejected={
            "graph": {"enabled": True, "extraction": "llm"},
            "llm": {**LLM, "extraction": {"enabled": False}},
        },
    ),
    rule(
        "spec.api.autoscaling",
        "minReplicas must not exceed",
        accepted={"api": {"autoscaling": {"minReplicas": 8}}},
        rejected={"api": {"autoscaling": {"minReplicas": 9}}},
    ),
    rule(
        "spec.api.ingress",
        "an enabled ingress needs",
        accepted={"api": {"ingress": {"enabled": True, "host": "example.com"}}},
        rejected={"api": {"ingress": {"enabled": True}}},
    ),
    rule(
        "spec.backup",
        "a schedule needs",
        accepted={"backup": {"schedule": "0 2 * * *", "claimName": "a"}},
        rejected={"backup": {"schedule": "0 2 * * *"}},
    ),
    change(
        "spec.backup",
        "claimName is set once",
        old={"backup": {"claimName": "a"}},
        accepted={"backup": {"claimName": "a", "schedule": "@daily"}},
        rejected={"backup": {"claimName": "b"}},
    ),
    change(
        "spec.backup",
        "claimName is set once",
        old={"backup": {"claimName": "a"}},
        accepted={"backup": {"claimName": "a", "retention": 3}},
        rejected={},
    ),
]

MODEL_CACHE = [
    rule(
        "spec.modelCache",
        "give `existingClaim` or `size`",
        accepted={"modelCache": {"existingClaim": "a"}},
        rejected={"modelCache": {"existingClaim": "a", "size": "1Gi"}},
    ),
    rule(
        "spec.modelCache",
        "`storageClassName` needs `size`",
        accepted={"modelCache": {"storageClassName": "a", "size": "1Gi"}},
        rejected={"modelCache": {"storageClassName": "a"}},
    ),
    change(
        "spec.modelCache",
        "existingClaim is set once",
        old={"modelCache": {"existingClaim": "a"}},
        accepted={"modelCache": {"existingClaim": "a"}},
        rejected={"modelCache": {"existingClaim": "b"}},
    ),
    change(
        "spec.modelCache",
        "a volume can only grow",
        old={"modelCache": {"size": "2Gi"}},
        accepted={"modelCache": {"size": "3Gi"}},
        rejected={},
    ),
    change(
        "spec.modelCache",
        "a volume can only grow",
        old={"modelCache": {"size": "2Gi"}},
        accepted={"modelCache": {"size": "2Gi"}},
        rejected={"modelCache": {"size": "1Gi"}},
    ),
    change(
        "spec.modelCache",
        "the storage class of a volume is set once",
        old={"modelCache": {"size": "2Gi", "storageClassName": "a"}},
        accepted={"modelCache": {"size": "3Gi", "storageClassName": "a"}},
        rejected={"modelCache": {"size": "2Gi"}},
    ),
]

TASKS = [
    *[
        Case(
            kind,
            "spec",
            "what a Job does is set once",
            accepted={"ragbase": "docs", "pod": {"affinity": {"podAffinity": {}}}},
            rejected={"ragbase": "docs", "retries": 3, "pod": {"affinity": {"podAffinity": {}}}},
            old={"ragbase": "docs", "pod": {"affinity": {"podAffinity": {}}}},
        )
        for kind in (BACKUP, RESTORE, BENCHMARK)
    ],
    Case(
        RESTORE,
        "spec",
        "give `backup`, or `claimName`",
        accepted={"ragbase": "docs", "claimName": "a", "folder": "daily/20261130T020000Z"},
        rejected={"ragbase": "docs", "backup": "b", "folder": "daily"},
    ),
    Case(
        BENCHMARK,
        "spec",
        "nothing to measure",
        accepted={"ragbase": "docs", "latency": False},
        rejected={"ragbase": "docs", "latency": False, "quality": False},
    ),
    Case(
        BENCHMARK,
        "spec",
        "`rerank` is for mode hybrid",
        accepted={"ragbase": "docs", "rerank": True},
        rejected={"ragbase": "docs", "rerank": True, "modes": ["keyword"]},
    ),
    Case(
        BENCHMARK,
        "spec.dataset",
        "`folder` needs `claimName`",
        accepted={"ragbase": "docs", "dataset": {"claimName": "a", "folder": "cranfield"}},
        rejected={"ragbase": "docs", "dataset": {"folder": "cranfield"}},
    ),
]

CASES = [
    *DATABASE,
    *storage("database.storage"),
    *storage("graph.memgraph.storage", "graph"),
    *storage("localrag.storage", "localrag"),
    *MODEL_SERVERS,
    *OTHERS,
    *MODEL_CACHE,
    *TASKS,
]
