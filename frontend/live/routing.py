"""Where the live sockets answer."""

from __future__ import annotations

from typing import Any

from django.urls import path, re_path

from frontend import converters  # noqa: F401 - registers the converters
from frontend.live.endpoint import live_socket, refuse

#: Routes of Channels: `path` takes ASGI applications here, which its types do not know.
websocket_urlpatterns: list[Any] = [
    path("ws/clusters/<cluster:cluster>/", live_socket, name="ws:live"),  # type: ignore[arg-type]
    re_path("", refuse, name="ws:nothing"),  # type: ignore[arg-type]
]
