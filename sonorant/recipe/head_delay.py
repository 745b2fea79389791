"""By how much a trained model tells its labels after what they need."""

from sonorant.recipe.schema import Recipe

__all__ = ["head_delay_vectors"]


def head_delay_vectors(recipe: Recipe) -> int:
    """Return by how many vectors heads of monotonic attention were trained to stop behind their labels."""
    frames = recipe.training.head_delay_frames if recipe.model.monotonic else 0
    return frames * recipe.model.framing.block
