"""The one error of this package."""


class SlurmStackError(RuntimeError):
    """The stack could not be started, stopped or asked; the message names the step and what was seen."""
