"""All errors that sonorant raises; edges map them to exit codes and gRPC statuses."""

__all__ = [
    "BadAudio",
    "BadCorpus",
    "BadLanguageModel",
    "BadRecipe",
    "BadRun",
    "BadShard",
    "RejectedExample",
    "SonorantError",
    "Unavailable",
]


class SonorantError(Exception):
    """Root of all errors; its message has what was found, what was expected and what to do next.

    `exit_code` follows sysexits.h, so that a script can tell bad input from a missing service.
    """

    exit_code = 70


class BadRecipe(SonorantError):
    """A recipe that cannot be used; the message names file, line and key."""

    exit_code = 78


class BadCorpus(SonorantError):
    """A corpus or manifest in a wrong format."""

    exit_code = 65


class BadAudio(SonorantError):
    """One recording that cannot be used: `path` names it, `reason` the fault."""

    exit_code = 65

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)  # both, so that it can travel between processes
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class BadShard(SonorantError):
    """A shard, or one record of it, whose bytes are damaged."""

    exit_code = 65


class BadLanguageModel(SonorantError):
    """A language model, or a text to train or score one with, that cannot be used; the message names file and line."""

    exit_code = 65


class BadRun(SonorantError):
    """A run that is missing, or not complete enough for the command."""

    exit_code = 65


class Unavailable(SonorantError):
    """A service, file system or port that is unavailable now; a retry may help."""

    exit_code = 69


class RejectedExample(SonorantError):
    """Raised by a stage that cannot process one example; the epoch continues without it."""

    exit_code = 65

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
