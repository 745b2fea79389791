"""Recipe: how the stages are run and linked."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from sonorant.links.section import PayloadRecipe
from sonorant.section import Section

__all__ = ["PipelineRecipe"]

_HEARTBEATS = 3  # that a replica may be silent at the least: one is lost, and the next one late
_DEATHS = 2  # times a dead replica's silence that work may stand still at the least


class PipelineRecipe(Section):
    """How work flows from shards to trainer; none of it but `payload` changes a single bit of any example."""

    layout: Literal["split", "fused"] = Field("split", description="A process per stage, or one for the whole chain.")
    replicas: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="Replicas per stage (shard_reader, those of the recipe's stages, featurizer; or example_server if "
        "fused), at least 1; absent: 1.",
    )
    order: Literal["fast", "strict"] = Field(
        "fast",
        description="Batches of whatever has arrived; or the same sequence of batches in every run of this recipe, "
        "however many replicas there are and whatever dies: weights are equal bit for bit on one kind of processor, "
        "with as many threads a rank. strict waits for the slowest example of each batch, on every rank, and needs "
        "training.batch_vectors: 0 where there are several.",
    )
    credits: int = Field(
        16, ge=1, le=4096, description="Examples that one replica may hold: being computed, or waiting."
    )
    lease_examples: int = Field(32, ge=1, le=4096, description="Examples in one lease.")
    lease_timeout_s: float = Field(
        60.0,
        gt=0,
        description="Least age at which a lease that is not settled is given again, in seconds; four times what leases "
        "are measured to take if that is more, and a minute before any is measured.",
    )
    heartbeat_s: float = Field(0.5, ge=0.01, le=60, description="Time between heartbeats, in seconds.")
    dead_after_s: float = Field(
        2.5,
        gt=0,
        le=600,
        validate_default=True,
        description="Silence after which a replica counts as dead, in seconds; at least 3 heartbeats. A coordinator "
        "that is started again names no endpoints for as long.",
    )
    stall_after_s: float = Field(
        180.0,
        ge=0,
        description="On one machine: seconds without a step or a settled example, while the trainer waits for batches, "
        "after which `sonorant train` restarts what it waits for; when that was in vain twice, it ends with exit code "
        "75. What loads, compiles or evaluates has ten minutes. 0: it waits for ever.",
    )
    lookahead_examples: int = Field(
        512,
        ge=0,
        description="Examples of the next epoch that may be under way before one ends; with order strict also how far "
        "past the oldest example that is under way others may be.",
    )
    payload: PayloadRecipe = Field(PayloadRecipe(), description="Precision of what links carry.")
    max_example_mb: float = Field(64.0, gt=0, le=1024, description="Largest example on a link, in megabytes.")

    @field_validator("dead_after_s")
    @classmethod
    def _outlasts_lost_heartbeats(cls, dead_after_s: float, info: ValidationInfo) -> float:
        heartbeat_s = info.data.get("heartbeat_s", 0.0)  # absent if it is wrong itself
        if dead_after_s < _HEARTBEATS * heartbeat_s:
            raise ValueError(
                f"must be at least {_HEARTBEATS} x heartbeat_s={heartbeat_s:g}, or replicas that live count as dead "
                f"when a heartbeat is late; set it to {_HEARTBEATS * heartbeat_s:g} or more (5 x heartbeat_s is usual) "
                f"or heartbeat_s to {dead_after_s / _HEARTBEATS:.3g} or less"
            )
        return dead_after_s

    @field_validator("stall_after_s")
    @classmethod
    def _outlasts_a_dead_replica(cls, stall_after_s: float, info: ValidationInfo) -> float:
        needed_s = _DEATHS * info.data.get("dead_after_s", 0.0)  # absent if it is wrong itself
        if 0 < stall_after_s < needed_s:
            raise ValueError(
                f"must be 0 or at least {_DEATHS} x dead_after_s, {needed_s:g}: before that, examples of a replica "
                "that has died are not even leased again, and each pause of work would end the run"
            )
        return stall_after_s
