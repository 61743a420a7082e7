"""What the kinds that run one Job share: `RagBaseBackup`, `RagBaseRestore`, `RagBaseBenchmark`."""

from __future__ import annotations

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.conditions import Conditions, Timestamp
from ragbase_operator.models.pods import PodOverrides, Resources
from ragbase_operator.models.texts import ObjectName

__all__ = ["SET_ONCE", "TaskSpec", "TaskStatus"]

SET_ONCE = Rule("self == oldSelf", "what a Job does is set once: make a new object")
"""A Job's template cannot be changed, so neither can the object that it is made of."""


class TaskSpec(Part):
    """A Job of the API's image for one RagBase. Set once."""

    ragbase: ObjectName = Field(description="Name of the RagBase, in the same namespace.")
    retries: int = Field(
        default=2, ge=0, le=10, description="Pods that may fail before the Job has failed."
    )
    timeout_seconds: int = Field(
        default=21_600, ge=60, le=604_800, description="Longest that the Job may take."
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "512Mi"}, limits={"memory": "2Gi"}
        ),
        description="Of the Job's pod.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the Job's pod.")


class TaskStatus(Part):
    """How it goes. Condition `Complete`: True once it is done, else the reason; `Failed`: True
    once it was given up."""

    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the spec that was seen last."
    )
    conditions: Conditions = Field(
        default_factory=list, description="Complete and Failed, each with its reason."
    )
    job: str | None = Field(default=None, max_length=253, description="Name of the Job.")
    start_time: Timestamp | None = Field(default=None, description="When the Job began.")
    completion_time: Timestamp | None = Field(
        default=None, description="When it was done or had failed."
    )
