"""Exported models: how they are written, checked and read."""
