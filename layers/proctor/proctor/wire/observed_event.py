"""Change events of agent_reports: something of a kind changed on a cluster; what it is now stands in the observed table.

{"source": "proctor.observed", "detail-type": "Observed Changed", "detail": {"cluster": "alpha", "kind": "usage"}}
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class ObservedDetail(BaseModel):
    """Where, and which section."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    cluster: Annotated[str, Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$")]
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]


class ObservedChanged(BaseModel):
    """The EventBridge envelope."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    source: Literal["proctor.observed"]
    detail: ObservedDetail


OBSERVED_CHANGED: TypeAdapter[ObservedChanged] = TypeAdapter(ObservedChanged)
