"""Looks at a cluster before sonorant is installed on it."""
