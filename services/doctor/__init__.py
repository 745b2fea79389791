"""Checks a cluster against the chart's values before an installation.

`cluster` reads the API server, and changes nothing. All else are pure functions of what it read and the values:
`examine` (`checks`) returns `Finding`s: scheduling of pods on nodes (`placement`), `permissions`, `values` against the
chart's schema, and contradictory settings (`consistency`).
"""
