"""Training: intake, losses, schedules, the step, checkpoints, metrics."""
