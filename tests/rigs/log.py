"""What a module logs."""


class WrittenLog:
    """Stands for a module's logger: structlog keeps the one that was used first, whatever is configured later."""

    def __init__(self):
        self.entries = []

    def __getattr__(self, level):
        return lambda event, **details: self.entries.append({"event": event, **details})
