"""Errors of the agent. Each says what failed and, where there is one, the way out."""


class AgentError(Exception):
    """Base of the agent's own errors."""


class SettingsError(AgentError):
    """The settings file is missing, unreadable or wrong; names the field."""


class SlurmError(AgentError):
    """A Slurm command failed: not found, timed out, or said no.

    `is_transient`: trying again may help. `is_silent`: nothing answered, so the next command would wait in vain too.
    """

    def __init__(self, message: str, *, is_transient: bool = False, is_silent: bool = False) -> None:
        """Keep the message, whether to try again, and whether anything answered."""
        super().__init__(message)
        self.is_transient = is_transient or is_silent
        self.is_silent = is_silent


class AwsError(AgentError):
    """A call to AWS failed; `code` is the service's error code or the kind of network failure."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code for back-off and problems."""
        super().__init__(f"{code}: {message}")
        self.code = code
