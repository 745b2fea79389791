"""Tracking: what an experiment tracker, such as MLflow, gets of a run, without its client.

`section` has the recipe's section. `journal` reads a run's metrics as `Point`s, up to its newest checkpoint, so that a
tracker has no point of a step that a restart makes again; `parameters` are the recipe's settings by dotted keys. The
client and its thread are in `services/tracking`.
"""
