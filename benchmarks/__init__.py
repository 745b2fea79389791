"""Benchmarks of sonorant beside its peers: one module a benchmark, run by `sonorant bench NAME`.

A benchmark is a module of this package with a function `rows(progress)`; its docstring is its help. `OPTIONS`, of
click, are keyword arguments of `rows`, if it has any.
`row`, `timing` and `limit` are what benchmarks share.
"""
