"""Thin servers around the library, and what they share."""
