"""Who may open, and keep, a live socket: somebody whose role allows it, by a session from a page of this very site, or by a token.

A program that sends a token says the site itself as its Origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit

from asgiref.typing import WebSocketScope
from channels.auth import get_user
from django.conf import settings

from frontend.accounts.access import socket_admits

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


async def may_open(scope: WebSocketScope) -> bool:
    """Whether the handshake comes from a page of ours and carries a session that holds."""
    headers = {name.lower(): value.decode("latin1") for name, value in scope["headers"]}
    secure = scope["scheme"] == "wss" or not settings.SECURE_SSL_REDIRECT
    return secure and same_origin(headers) and await still_allowed(scope)


def same_origin(headers: Mapping[bytes, str]) -> bool:
    """Whether the page that opens the socket was served by the host, and at the port, that is asked.

    Cookies do not tell ports apart, so a page of another server on this machine must not get through.
    """
    origin = urlsplit(headers.get(b"origin", ""))
    port = _DEFAULT_PORTS.get(origin.scheme)
    host = headers.get(b"host", "")
    return port is not None and origin.netloc.lower().removesuffix(port) == host.lower().removesuffix(port)


async def still_allowed(scope: WebSocketScope) -> bool:
    """Whether the handshake's session or token, and the role behind it, hold now: either may have ended or changed since."""
    fields = cast(dict[str, Any], scope)
    cookies: dict[str, str] = fields["cookies"]
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookies.get(settings.SESSION_COOKIE_NAME))
    user = await get_user(cast(Any, {"session": session}))
    authorization = next((value.decode("latin1") for name, value in scope["headers"] if name.lower() == b"authorization"), "")
    address = (scope["client"] or ("?",))[0]
    return await socket_admits(user, authorization, address, fields["url_route"]["kwargs"]["cluster"])
