"""What templates ask: `may.submit`, `may.policy` and so on, a word for each permission. They hide what would be refused."""

from __future__ import annotations

from django.http import HttpRequest

from frontend.accounts.access import caller_of
from frontend.accounts.roles import Permission


def may(request: HttpRequest) -> dict[str, object]:
    """Every permission, and whether the caller has it."""
    caller = caller_of(request)
    return {"may": {permission.value: caller.may(permission) for permission in Permission}, "role": caller.role}
