"""The report of a run: every figure as JSON, and a page to look at."""
