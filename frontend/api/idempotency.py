"""A key that makes a request safe to send again: the same one is done once, another under the same key is refused."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from frontend.api.errors import FieldError, Invalid, shown

MOST_KEY = 100
IDEMPOTENCY_KEY = "Idempotency-Key"

IDEMPOTENT = OpenApiParameter(
    IDEMPOTENCY_KEY,
    {"type": "string", "minLength": 1, "maxLength": MOST_KEY, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="a value of your own: sent again with it, the request is done once",
)


def idempotency_key(request: Request) -> str | None:
    """The key, if one was sent."""
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is not None and not (1 <= len(key) <= MOST_KEY and key.isascii() and key.isprintable()):
        raise Invalid([FieldError(IDEMPOTENCY_KEY, shown(key), f"give 1 to {MOST_KEY} printable ASCII characters, or leave it out")])
    return key
