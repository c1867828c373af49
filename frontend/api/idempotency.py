"""A key that makes a request safe to send again: the same one is done once, another under the same key is refused."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from clusters.eventlog.facts import BY_POSITION
from frontend.api.errors import FieldError, Invalid, shown

MOST_KEY = 100
IDEMPOTENCY_KEY = "Idempotency-Key"

IDEMPOTENT = OpenApiParameter(
    IDEMPOTENCY_KEY,
    {"type": "string", "minLength": 1, "maxLength": MOST_KEY, "pattern": "^[ -?A-~][ -~]*$"},
    OpenApiParameter.HEADER,
    description="a value of your own: sent again with it, the request is done once",
)


def idempotency_key(request: Request) -> str | None:
    """The key, if one was sent."""
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is not None and not (1 <= len(key) <= MOST_KEY and key.isascii() and key.isprintable() and not key.startswith(BY_POSITION)):
        right = f"give 1 to {MOST_KEY} printable ASCII characters, the first of them no {BY_POSITION}, or leave it out"
        raise Invalid([FieldError(IDEMPOTENCY_KEY, shown(key), right)])
    return key
