"""Runs one stage of the recipe, whichever it is told."""
