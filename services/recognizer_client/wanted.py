"""What a client wants of results."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client wants of results; raises TypeError for phrases without their boosts.

    model: its name; empty: the only one. written: language, en, fr or ko, of final results' written form; empty:
    verbatim. alternatives: length of the N-best list, 1 to 30. phrases: what is likelier to be said, with what each of
    its words adds to a score (a natural logarithm, to 20; 0: the model's boost). language_model: whether that of the
    model counts.
    """

    model: str = ""
    written: str = ""
    alternatives: int = 1
    phrases: Mapping[str, float] = field(default_factory=dict)
    language_model: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.phrases, Mapping):
            raise TypeError(
                f"phrases={self.phrases!r}: expected each phrase with its boost, such as {{'new york': 3.0}}; "
                "0 is the model's boost"
            )

    def config(self) -> pb.RecognitionConfig:
        """Return the config that a stream begins with."""
        features = pb.RecognitionFeatures(
            enable_word_time_offsets=True,
            enable_word_confidence=True,
            max_alternatives=self.alternatives,
            written=self.written,
        )
        return pb.RecognitionConfig(
            model=self.model,
            features=features,
            phrases=[pb.Phrase(value=value, boost=boost) for value, boost in self.phrases.items()],
            without_language_model=not self.language_model,
        )
