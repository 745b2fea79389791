"""Benchmarks of sonorant beside its peers: one module a benchmark, run by `sonorant bench NAME`.

A benchmark is a module of this package with a function `rows(progress)`; its docstring's first line is its help.
`row`, `timing` and `limit` are what benchmarks share.
"""
