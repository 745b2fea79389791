"""Transcripts: one spelling (`normalisation`), units and numbers (`units`), and how wrong they are (`scoring`)."""
