"""Runs any one stage of the recipe."""
