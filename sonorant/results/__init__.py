"""The results of many systems, a row each, from the reports of their runs.

`read_systems` reads the list of systems, and gives a `Row` for each seed of each; a row knows its recipe, its settings
and, by a digest of both, the folder of its run. `keep` reduces the report of a row's run to a `KeptReport` of a few
lines, which `read_kept` reads; a kept report of another digest is out of date. `render_page` shows rows and kept
reports, in the order of the list, whenever they came. Rows are run by `sonorant results`.
"""
