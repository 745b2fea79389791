"""The trainer: one process a rank."""
