"""What all views of the API share: tokens, or the session with CSRF; JSON in and out, problems for errors, one schema.

Who may call what is decided before a view is asked, by `frontend.accounts.access`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from frontend.accounts.access import caller_of
from frontend.api.errors import MEDIA_TYPE, Problem
from frontend.api.fields import Text
from frontend.api.parsers import StrictJSONParser

#: Statuses of problems that any operation may answer with, and those of operations with a body.
PROBLEMS = (401, 403, 404, 422, 429, 503)
WRITE_PROBLEMS = (400, 409, 413, 415)

_REF = "#/components/schemas/{name}"


class TokenLogin(BaseAuthentication):
    """The token that the gate has found. No browser sends one by itself, so there is no CSRF to guard against."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        return (request._request.user, None) if caller_of(request).by_token else None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SessionLogin(SessionAuthentication):
    """The session of the pages, with its CSRF token. Who has none is told 401, not 403."""

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


#: What every view takes; a token comes first.
LOGINS: list[type[BaseAuthentication]] = [TokenLogin, SessionLogin]


class Schema(AutoSchema):
    """Adds to each operation the problems that any of them may answer with, and to each text its pattern."""

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        for status in PROBLEMS if self.method == "GET" else (*PROBLEMS, *WRITE_PROBLEMS):
            problem = self._get_response_for_code(Problem, str(status), [MEDIA_TYPE], direction)  # type: ignore[no-untyped-call]
            bodies.setdefault(str(status), problem)
        return bodies

    def _insert_field_validators(self, field: Any, schema: Any) -> None:
        super()._insert_field_validators(field, schema)  # type: ignore[no-untyped-call]
        if isinstance(field, Text):
            schema["pattern"] = field.pattern


class ApiView(APIView):
    """A view of the API."""

    authentication_classes = LOGINS
    permission_classes: list[type[BasePermission]] = [IsAuthenticated]
    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    schema = Schema()


def answer(value: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.to_builtins(value), status=status, headers=headers)


class StructSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Values describe themselves: what the schema says is what `answer` sends."""

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        _, schemas = msgspec.json.schema_components([self.target], ref_template=_REF)
        own = schemas.pop(self.target.__name__)
        structs: dict[str, object] = {struct.__name__: struct for struct in msgspec.Struct.__subclasses__()}
        for name, schema in schemas.items():
            meant = structs.get(name, name)  # the registry tells parts that are also answers of their own by their class
            component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=meant, schema=schema)  # type: ignore[no-untyped-call]
            auto_schema.registry.register_on_missing(component)
        return own


class InputSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Unknown fields are refused."""

    target_class = "frontend.api.fields.Input"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        return auto_schema._map_serializer(self.target, direction, bypass_extensions=True) | {"additionalProperties": False}


class SeveralInputsSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Lists have limits."""

    target_class = "frontend.api.fields.SeveralInputs"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Any:
        items = auto_schema.resolve_serializer(self.target.child, direction).ref
        return {"type": "array", "items": items, "minItems": self.target.min_length or 0, "maxItems": self.target.max_length}


class SessionLoginScheme(SessionScheme):  # type: ignore[no-untyped-call]
    """How the schema describes the session."""

    target_class = "frontend.api.base.SessionLogin"


class TokenLoginScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes tokens."""

    target_class = "frontend.api.base.TokenLogin"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "a token of Slicekeeper: sk_..."}
