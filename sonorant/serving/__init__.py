"""The recognizer without its transport: model versions, sessions, admission."""
