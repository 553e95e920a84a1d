"""Parameter Store Change events.

    {"detail-type": "Parameter Store Change", "source": "aws.ssm",
     "detail": {"operation": "Update", "name": "/proctor/my-cluster/session_limits", "type": "String"}}

The value is never in the event. The name may lack its leading slash.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from proctor.domain.errors import InvalidInputError
from proctor.domain.triggers import NoEvent, PolicyChanged
from proctor.wire.parsing import parse

_IGNORED_OPERATIONS = frozenset({"LabelParameterVersion", "Delete"})


def _with_slash(name: object) -> object:
    return name if not isinstance(name, str) or name.startswith("/") else f"/{name}"


class ParameterDetail(BaseModel):
    """What changed. Operations beyond Create, Update, Delete and LabelParameterVersion are kept as they come."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    operation: Annotated[str, Field(max_length=64)]
    name: Annotated[str, BeforeValidator(_with_slash), Field(max_length=2048)]


class ParameterChange(BaseModel):
    """The EventBridge envelope."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    detail_type: Annotated[Literal["Parameter Store Change"], Field(alias="detail-type")]
    detail: ParameterDetail


PARAMETER_CHANGE: TypeAdapter[ParameterChange] = TypeAdapter(ParameterChange)


def policy_change(raw: Any, function: str, *, has_definitions: bool = False) -> PolicyChanged | NoEvent:
    """A written policy of `function`, or one of its definitions one level below where it has any; else nothing to do.

    Raises InvalidInputError for a parameter that is none of these.
    """
    detail = parse(PARAMETER_CHANGE, raw).detail
    if detail.operation in _IGNORED_OPERATIONS:
        return NoEvent(detail.operation)
    parts = detail.name.split("/")
    is_ours = len(parts) in ({4, 5} if has_definitions else {4}) and all(parts[2:])
    if not is_ours or parts[1] != "proctor" or parts[3] != function:
        below = " and one level below" if has_definitions else ""
        raise InvalidInputError(
            "detail.name", detail.name, f"the rule must match /proctor/<cluster>/{function}{below}"
        )
    return PolicyChanged(detail.name)
