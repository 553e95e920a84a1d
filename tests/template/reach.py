"""How a function's reach is written down: each call of its adapters with the statements that allow it, and on what.

`REACHED`: (statements' Sids, `|` between, resource). `COMMAND_LINE`: calls of the same adapters that the command line makes
with operators' own permissions, and the function may not. `GIVEN`: what the requests' context holds.
"""

from tests.template.stack import ACCOUNT, REGION


def arn(service: str, rest: str) -> str:
    """An ARN of this account and Region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"


def table(name: str) -> str:
    """A table of the stack."""
    return arn("dynamodb", f"table/proctor-{name}")


def parameter(name: str) -> str:
    """A parameter of the cluster alpha."""
    return arn("ssm", f"parameter/proctor/alpha/{name}")


BUS = arn("events", "event-bus/default")
