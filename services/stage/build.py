"""A replica from its parts, each built once those that it needs are there."""

from collections.abc import Callable, Mapping

from services.links.producer import ProducerLinks
from services.process.health import HealthServer
from services.process.keys import process_keys
from services.process.signals import Shutdown
from services.stage.replica import StageReplica
from services.stage.runtime import Replica, Runtime
from services.stage.source import Source
from sonorant.augment.stage import Stage
from sonorant.links.wire import Parcel
from sonorant.recipe.pipeline import PipelineRecipe

__all__ = ["build_replica"]


def build_replica(
    replica: Replica,
    make_source: Callable[[Runtime], Source],
    chain: Mapping[str, Stage],
    seed: int,
    pipeline: PipelineRecipe,
    shutdown: Shutdown,
    health: HealthServer | None = None,
    on_iteration: Callable[[], None] = lambda: None,
) -> StageReplica:
    """Build what all parts share, then source, outlet and replica; see `StageReplica`.

    Raises Unavailable if the outlet cannot bind its port.
    """
    runtime = Runtime(replica)
    source = make_source(runtime)

    def on_handed(parcel: Parcel) -> None:
        runtime.meter.handed_on(1, parcel.audio_s)
        source.release()

    outlet = ProducerLinks(
        runtime.context,
        replica.host,
        on_handed,
        port=replica.port,
        dead_after_s=pipeline.dead_after_s,
        on_broken=runtime.client.link_broke,
        curve=process_keys().curve,
        lane_names=replica.lane_names,
    )
    return StageReplica(runtime, source, outlet, chain, seed, pipeline, shutdown, health, on_iteration)
