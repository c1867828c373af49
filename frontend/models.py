"""The tables of the web side."""

from __future__ import annotations

from frontend.accounts.models import LoginToken

__all__ = ["LoginToken"]
