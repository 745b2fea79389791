"""The report of a run: every figure as JSON, and a page with plots.

`write_report` (`writing`) makes `report.json` of what `summarise` (`summary`) reads: the evaluation's outcomes, the
dataset card and the lines of `metrics.jsonl` (`journal`); and of both `report.html`, by `render_page` (`page`) with
plots as SVG (`plots`). Without figures of an evaluation there is no report: BadRun names the command that is missing.
`view_stages` (`stage_view`) passes an utterance through the recipe's stages, for the page and for `write_augmented`
(`augmented`), which `sonorant augment` calls. `render_plan` and `render_inspection` show a cluster's plan and a model
on a terminal, `scaling_plot` plans over numbers of GPUs.
"""
