"""Whether a cluster has what the chart's values ask of it, before sonorant is installed there.

`cluster` asks the API server, and changes nothing. All else are pure functions of that and the values: `examine`
(`checks`) gives `Finding`s, among them the `placement` of pods on nodes, `permissions`, `values` against the chart's
schema, and settings that contradict each other (`consistency`).
"""
