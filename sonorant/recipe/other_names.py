"""Names that other toolkits have for keys of a recipe."""

from collections.abc import Mapping

__all__ = ["OTHER_NAMES"]

OTHER_NAMES: Mapping[str, str] = {
    "accum_grad": "training.accumulate_batches",
    "batch_size": "training.batch_examples",
    "beam_size": "decoding.beam",
    "early_stopping": "training.patience",
    "grad_clip": "training.clip_norm",
    "gradient_accumulation_steps": "training.accumulate_batches",
    "gradient_clip_val": "training.clip_norm",
    "hidden_size": "model.cells",
    "lr": "training.learning_rate",
    "max_epochs": "training.epochs",
    "max_grad_norm": "training.clip_norm",
    "n_mels": "features.mel_bins",
    "num_epochs": "training.epochs",
    "num_layers": "model.layers",
    "num_mel_bins": "features.mel_bins",
    "optim": "training.optimizer",
    "sample_rate": "corpus.sample_rate_hz",
    "vocab_size": "text.pieces",
    "warmup": "training.warmup_steps",
}
"""The key that does the same, by the name; of names that several toolkits share, and that no section has."""
