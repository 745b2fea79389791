"""What a run under fault injection can be of: the default, and others that differ from it in one thing each."""

from dataclasses import dataclass, field

__all__ = ["EPOCHS", "VARIANTS", "Variant"]

EPOCHS = 3


@dataclass(frozen=True)
class Variant:
    """What differs from the default recipe; every `damaged_every`-th record has undecodable audio."""

    pipeline: dict = field(default_factory=dict)
    training: dict = field(default_factory=dict)
    damaged_every: int = 0


VARIANTS = {
    "split": Variant(),
    "fused": Variant(pipeline={"layout": "fused"}),
    "strict": Variant(pipeline={"order": "strict"}, training={"ranks": 1}),
    "rounded": Variant(pipeline={"payload": {"waveform": "int16", "features": "float16"}}),
    "damaged": Variant(damaged_every=7),
}
