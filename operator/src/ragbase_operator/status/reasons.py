"""Reasons of conditions: one word each, stable, for programs and for the table in the docs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason", "TaskReason", "Type"]


class Type(StrEnum):
    """Types of the conditions of a RagBase."""

    READY = "Ready"
    DATABASE = "DatabaseReady"
    SCHEMA = "SchemaReady"
    EMBEDDINGS = "EmbeddingsReady"
    RERANKERS = "RerankersReady"
    GRAPH = "GraphReady"
    API = "ApiReady"
    WORKERS = "WorkersReady"
    REINDEX = "ReindexRequired"
    PAUSED = "Paused"


class Reason(StrEnum):
    """Why a condition is as it is."""

    # All is well, or nothing is asked.
    AVAILABLE = "Available"
    DISABLED = "Disabled"
    EXTERNAL = "External"
    SCALED_TO_ZERO = "ScaledToZero"
    NOT_REQUIRED = "NotRequired"
    RUNNING = "Running"
    PAUSED = "Paused"
    # Under way.
    PROGRESSING = "Progressing"
    ROLLING_OUT = "RollingOut"
    MIGRATION_RUNNING = "MigrationRunning"
    # Somebody must act.
    INVALID_SPEC = "InvalidSpec"
    APPLY_REFUSED = "ApplyRefused"
    APPLY_FAILED = "ApplyFailed"
    NAME_TAKEN = "NameTaken"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_REFUSED = "PodRefused"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_CONFIG = "ContainerConfigError"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason
    SECRET_KEY_MISSING = "SecretKeyMissing"  # noqa: S105 - a reason
    CRASH_LOOP = "CrashLoop"
    OUT_OF_MEMORY = "OutOfMemory"
    MAP_COUNT = "MapCountTooLow"
    NO_GPU = "NoGpuNode"
    NO_NODE = "NoMatchingNode"
    NO_ROOM = "InsufficientResources"
    TAINTED = "UntoleratedTaint"
    UNSCHEDULABLE = "Unschedulable"
    NO_STORAGE_CLASS = "NoDefaultStorageClass"
    STORAGE_CLASS_ABSENT = "StorageClassAbsent"
    VOLUME_PENDING = "VolumePending"
    VOLUME_LOST = "VolumeLost"
    VOLUME_GROWTH = "VolumeNotExpandable"
    CNPG_ABSENT = "CloudNativePgAbsent"
    MIGRATION_FAILED = "MigrationFailed"
    GRAPH_UNREACHABLE = "GraphUnreachable"
    EMBEDDING_CHANGED = "EmbeddingChanged"
    SEARCH_FAILED = "SearchFailed"
    NOT_READY = "NotReady"
    INTERNAL = "InternalError"


class TaskReason(StrEnum):
    """Why a backup, restore or benchmark stands where it does."""

    SUCCEEDED = "Succeeded"
    RUNNING = "Running"
    WAITING = "WaitingForRagBase"
    RAGBASE_ABSENT = "RagBaseAbsent"
    SOURCE_ABSENT = "BackupAbsent"
    NO_CLAIM = "NoClaim"
    NAME_TAKEN = "NameTaken"
    JOB_FAILED = "JobFailed"
    NOT_FAILED = "NotFailed"
