"""Bidirectional full attention: the encoder-decoder model of Kim 2019 (arXiv 1912.11040), section 3, and Zeyer 2018."""

from sonorant.models.applications import Applications, decoder_applications
from sonorant.models.attention import FeedbackAttention
from sonorant.models.attention_model import AttentionModel
from sonorant.models.bidirectional import BidirectionalEncoder
from sonorant.tensorflow import tf

__all__ = ["Bfa"]


class Bfa(AttentionModel):
    """Features of a whole utterance to log-probabilities of units and end (the last), label by label.

    [B, T, bins] to encoded frames [B, T', 2 cells], T' = ceil(T / product of `pooling`); with labels [B, L] before, to
    log-probabilities [B, L + 1, units + 1] by attention [B, L + 1, T'] (see `Inputs` and `Outputs`).
    """

    search = "labels"
    encoder: BidirectionalEncoder

    def applications(self, path: str, vectors: int) -> Applications:
        """See `AttentionModel`; attention looks at all frames for each label."""
        if path.startswith("attention/"):
            return decoder_applications(path, self.framing.frames(vectors))
        return super().applications(path, vectors)

    def products(self, vectors: int) -> dict[str, Applications]:
        """See `Model`: the weighted sum over all frames for each label."""
        return {"attention": Applications(label=self.framing.frames(vectors) * self.encoded_size)}

    def _new_encoder(self, inputs: int, seed: int) -> BidirectionalEncoder:
        return BidirectionalEncoder(inputs, self.recipe.layers, self.recipe.cells, self.recipe.pooling, seed)

    def _new_attention(self, seed: int) -> FeedbackAttention:
        return FeedbackAttention(self.encoded_size, self.recipe.decoder_cells, self.recipe.attention, seed)

    def _encode(
        self, features: tf.Tensor, lengths: tf.Tensor, dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        counted = None if dropout_seed is None else lengths
        vectors = self.convolution(self.normalisation.whole(features), counted)
        return self.encoder.encode(
            vectors, lengths, lambda hidden, layer: self.dropout(hidden, seed=dropout_seed, layer=layer)
        )
