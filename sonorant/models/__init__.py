"""Keras layers and models: definitions, no training loops."""
