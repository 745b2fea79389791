"""The report of a run: every figure as JSON, and a page with plots."""
