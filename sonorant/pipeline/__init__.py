"""The pipeline without its transport: examples, credit, leases and the ledger as plain state machines."""
