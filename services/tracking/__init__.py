"""A run in an experiment tracker: MLflow, with a server or in a folder.

A `Transfer` brings a run of MLflow up to the run's own files: settings, figures up to the newest checkpoint, status. It
asks MLflow what is there already, so it can be repeated by any process at any time. A `Tracker` repeats it in a thread
beside the trainer, which it neither slows down nor ends; `sonorant report` repeats it once more, and adds the report
and the figures of the test sets.
"""
