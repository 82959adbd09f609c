"""The requests and the responses, for validation and for the OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from .access import MAX_NAME

# PostgreSQL has no character 0 in text.
Text = Annotated[str, StringConstraints(max_length=1_000, pattern=r"^[^\x00]*$")]
LongText = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00]*$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
RowId = (
    Annotated[int, Field(strict=True, ge=-(2**62), le=2**62)]
    | Annotated[str, StringConstraints(strict=True, min_length=1, max_length=1_000, pattern=r"^[^\x00]*$")]
)
Label = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True, ge=-(2**62), le=2**62)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[str, StringConstraints(strict=True, max_length=1_000, pattern=r"^[^\x00]*$")]
)


def _config(example: dict[str, Any]) -> ConfigDict:
    """Unknown names are errors; an example for the OpenAPI document."""
    return ConfigDict(extra="forbid", json_schema_extra={"example": example})


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Row(_Request):
    """A row: its fields by name, and what is known about it."""

    id: RowId | None = None
    fields: dict[str, Any]
    label: Label | None = None
    time: Annotated[float, Field(allow_inf_nan=False)] | None = None


class Rows(_Request):
    """Rows to learn from or to predict."""

    rows: list[Row]
    model_config = _config({"rows": [{"id": "p17", "fields": {"amount": 12.5, "text": "Invoice attached"}}]})


class LeaseClaim(_Request):
    """A lease and the token of its claim."""

    id: Name
    token: Name


class AnswerIn(_Request):
    """An answer to a question."""

    id: RowId
    kind: Literal["label", "skip", "unsure"] = "label"
    label: Label | None = None
    lease: LeaseClaim | None = None
    comment: LongText | None = None
    wrong_field: Text | None = None
    key: Key


class Answers(_Request):
    """Answers, all or none of which are stored."""

    answers: list[AnswerIn]
    model_config = _config({"answers": [{"id": "p17", "kind": "label", "label": "spam", "key": "b3f1c0de"}]})


class RenewIn(_Request):
    """The token of a claim."""

    token: Name
    model_config = _config({"token": "9f2c"})


class ReleaseIn(_Request):
    """Leases to give back."""

    leases: Annotated[list[LeaseClaim], Field(max_length=1_000)]
    model_config = _config({"leases": [{"id": "l3", "token": "9f2c"}]})


class LinkIn(_Request):
    """Whom a one-time link is for."""

    name: Name
    role: Literal["producer", "annotator", "viewer", "admin"] = "annotator"
    model_config = _config({"name": "Ada", "role": "annotator"})


class SetupField(_Request):
    """What a field is to be taken for."""

    name: Text
    kind: Text


class SetupIn(_Request):
    """How to create the learner of an empty store."""

    upload: Name
    fields: Annotated[list[SetupField], Field(max_length=10_000)]
    label_column: Text | None = None
    classes: Annotated[list[Text], Field(max_length=1_000)] = []
    name: Name | None = None
    model_config = _config(
        {
            "upload": "u1",
            "fields": [{"name": "text", "kind": "text"}],
            "label_column": None,
            "classes": ["spam", "ham"],
        }
    )


class SettingsIn(_Request):
    """Settings to change."""

    name: Name | None = None
    blind: bool | None = None
    overlap_answers: Annotated[int, Field(ge=1, le=100)] | None = None
    overlap_fraction: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    group_duplicates: bool | None = None
    duplicate_similarity: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    lease_seconds: Annotated[float, Field(ge=5.0, le=86_400.0)] | None = None
    model_config = _config({"blind": False, "overlap_answers": 2, "overlap_fraction": 0.1})


# --------------------------------------------------------------------------------------------- the responses
# Those of `LearningService` are the dataclasses in `_results.py`.


class RenewOut(BaseModel):
    """How long a lease lasts now."""

    expires_in: float


class ReleaseOut(BaseModel):
    """How many leases were given back."""

    released: int


class LinkOut(BaseModel):
    """A one-time link."""

    url: str


class PersonOut(BaseModel):
    """Somebody who can sign in or send requests: how many sessions, tokens and open links there are."""

    name: str
    role: str
    sessions: int
    tokens: int
    links: int


class PeopleOut(BaseModel):
    """Everybody who can sign in or send requests."""

    people: list[PersonOut]


class RevokedOut(BaseModel):
    """How many tokens, sessions and links were revoked."""

    revoked: int


class TokenOut(BaseModel):
    """A token; it is shown once."""

    name: str
    role: str
    token: str


class StatusOut(BaseModel):
    """The state of the service; see docs/serving.md."""

    model_config = ConfigDict(extra="allow")
    name: str
    sequence: int
    model_version: int
    rows: int
    labels: int
    open_questions: int


class ProblemOut(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:everlearn:problem:duplicate_id",
                "title": "In conflict with the store",
                "status": 409,
                "detail": "Duplicate id 'p17': ids must be unique, including those of erased rows.",
                "code": "duplicate_id",
                "remedy": "Leave out these rows; known_ids(ids) returns the ids that are in the store.",
            }
        }
    )
    type: str
    title: str
    status: int
    detail: str
    code: str
    parameter: str | None = None
    value: Any = None
    remedy: str | None = None
