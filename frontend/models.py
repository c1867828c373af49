"""The tables of the web side."""

from __future__ import annotations

from frontend.accounts.models import ApiToken, LoginToken
from frontend.imports.models import Upload

__all__ = ["ApiToken", "LoginToken", "Upload"]
