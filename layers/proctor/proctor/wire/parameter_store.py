"""Parameter Store Change events.

    {"detail-type": "Parameter Store Change", "source": "aws.ssm",
     "detail": {"operation": "Update", "name": "/proctor/my-cluster/session_limits", "type": "String"}}

The value is never in the event. The name may lack its leading slash.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter


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
