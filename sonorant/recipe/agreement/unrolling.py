"""Truncated unrolling: a step of a chunk of each utterance, with state carried between chunks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_unrolling"]


def check_unrolling(recipe: "Sections") -> None:
    """Refuse truncated unrolling of what has no state to carry, or needs the whole utterance."""
    training, model = recipe.training, recipe.model
    if not training.unroll_vectors:
        return
    found = f"training.unroll_vectors={training.unroll_vectors}: truncated unrolling "
    if not model.carries_state:
        raise ValueError(
            f"{found}needs a family whose state is carried from chunk to chunk, lstm_ctc or delayed_lstm; found "
            f"model.family={model.family}; set it to 0, or take one of them"
        )
    if training.mwer_hypotheses:
        raise ValueError(
            f"{found}needs the loss of one transcript, and training.mwer_hypotheses={training.mwer_hypotheses} "
            "compares several; set one of them to 0"
        )
    if training.unroll_rows > training.batch_examples:
        raise ValueError(
            f"training.unroll_rows={training.unroll_rows} with training.batch_examples={training.batch_examples}: "
            "each row needs an utterance, and several keep padding low; lower the first or raise the second"
        )
    if training.accumulate_batches > 1:
        raise ValueError(
            f"{found}makes several steps of a batch, and training.accumulate_batches="
            f"{training.accumulate_batches} a step of several batches; set one of them to its default"
        )
    model.check_unrolled(found)
