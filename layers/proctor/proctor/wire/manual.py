"""Manual requests: `lambda:InvokeFunction` only, so IAM decides who may. A typo is refused.

    {"source": "proctor.manual", "requested_by": "ops@uni.example", "justification": "ticket 4711", "dry_run": true,
     "scope": {"kind": "person", "id": "ada"}}

Either `scope` (re-decided by the rules) or `actions` (typed, limited to the function's appliers).
"""

from typing import Annotated, Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

_ONE_LINE = r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]+$"
_STRICT = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Scope(BaseModel):
    """What to decide again."""

    model_config = _STRICT

    kind: Literal["person", "session", "account", "node", "all"]
    id: Annotated[str, Field(min_length=1, max_length=256)] = "*"


class ActionRequest(BaseModel):
    """One action asked for by name, e.g. `{"action": "TerminateSession", "session_id": "ada-0e34861185201706f"}`."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    action: Annotated[str, Field(min_length=1, max_length=64)]

    @property
    def arguments(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.__pydantic_extra__ or {})


class BreakGlass(BaseModel):
    """Lifts one named limit. `caller_proof` is a presigned GetCallerIdentity URL, at most five minutes old."""

    model_config = _STRICT

    lift: Annotated[str, Field(min_length=1, max_length=64)]
    caller_proof: Annotated[str, Field(min_length=1, max_length=4096)]


class ManualEnvelope(BaseModel):
    """What every function's manual request has. `requested_by` is stored as a claim, not as a proof."""

    model_config = _STRICT

    source: Literal["proctor.manual"]
    requested_by: Annotated[str, Field(min_length=1, max_length=256, pattern=_ONE_LINE)]
    justification: Annotated[str, Field(min_length=1, max_length=512, pattern=_ONE_LINE)]
    dry_run: bool = True
    break_glass: BreakGlass | None = None


class ManualRequest(ManualEnvelope):
    """The whole request, of the functions that have no scopes and actions of their own."""

    scope: Scope | None = None
    actions: Annotated[tuple[ActionRequest, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _one_of(self) -> "ManualRequest":
        if (self.scope is None) == (not self.actions):
            message = "give either scope or actions"
            raise ValueError(message)
        return self


MANUAL_REQUEST: TypeAdapter[ManualRequest] = TypeAdapter(ManualRequest)


class Asked(TypedDict):
    """The fields of a ManualTrigger."""

    requested_by: str
    justification: str
    is_dry_run: bool
    lift: str | None
    caller_proof: str | None


def asked(request: ManualEnvelope) -> Asked:
    """Who asks, why, and how far it may go."""
    glass = request.break_glass
    return {
        "requested_by": request.requested_by,
        "justification": request.justification,
        "is_dry_run": request.dry_run,
        "lift": glass.lift if glass else None,
        "caller_proof": glass.caller_proof if glass else None,
    }
