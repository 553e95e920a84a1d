"""Session Manager calls as CloudTrail records on EventBridge, cut down by the rule's input transformer.

    {"id": "…", "detail-type": "AWS API Call via CloudTrail", "source": "aws.ssm", "time": "2026-09-01T10:00:05Z",
     "detail": {"eventName": "StartSession", "eventTime": "2026-09-01T10:00:00Z", "errorCode": "",
                "userIdentity": {"arn": "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_…/ada@uni.example"},
                "requestParameters": {"target": "sagemaker-cluster:abcdef012345_gpu-i-0123456789abcdef0", "documentName": ""},
                "responseElements": {"sessionId": "ada@uni.example-t59j8gpq2ta8hniozstbnphqs8"}}}

A field that the record lacks arrives as an empty string or null (input transformer), or not at all (the whole record):
all three mean "absent". `requestParameters` and `responseElements` are null when access was denied.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter


def _absent(value: object) -> object:
    return None if value == "" else value


def _object(value: object) -> object:
    return {} if value in (None, "") else value


type _Printable = Annotated[str, Field(max_length=1024, pattern=r"^[\x20-\x7e]*$")]
type _Text = Annotated[_Printable | None, BeforeValidator(_absent)]
type _Id = Annotated[str, Field(max_length=96, pattern=r"^[\x21-\x7e]+$")]
type _SessionId = Annotated[_Id | None, BeforeValidator(_absent)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class UserIdentity(_Part):
    """Who called."""

    arn: _Text = None


class RequestParameters(_Part):
    """What was asked for; `session_id` is set for ResumeSession and TerminateSession."""

    target: _Text = None
    document_name: Annotated[_Text, Field(alias="documentName")] = None
    session_id: Annotated[_SessionId, Field(alias="sessionId")] = None


class ResponseElements(_Part):
    """What came back."""

    session_id: Annotated[_SessionId, Field(alias="sessionId")] = None


class Detail(_Part):
    """The record itself."""

    event_name: Annotated[Literal["StartSession", "ResumeSession"], Field(alias="eventName")]
    event_time: Annotated[AwareDatetime, Field(alias="eventTime")]
    error_code: Annotated[_Text, Field(alias="errorCode")] = None
    user_identity: Annotated[UserIdentity, BeforeValidator(_object), Field(alias="userIdentity")]
    request: Annotated[RequestParameters, BeforeValidator(_object), Field(alias="requestParameters")] = (
        RequestParameters.model_construct()
    )
    response: Annotated[ResponseElements, BeforeValidator(_object), Field(alias="responseElements")] = (
        ResponseElements.model_construct()
    )


class SessionRecord(_Part):
    """The EventBridge envelope."""

    source: Literal["aws.ssm"]
    detail: Detail

    @property
    def session_id(self) -> str | None:
        """The session started or resumed."""
        return self.detail.response.session_id or self.detail.request.session_id

    @property
    def at(self) -> datetime:
        """When the call was made."""
        return self.detail.event_time


SESSION_RECORD: TypeAdapter[SessionRecord] = TypeAdapter(SessionRecord)
