"""The ASGI application: pages and API over HTTP, live state over websockets."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
http = get_asgi_application()  # sets Django up: what follows may import models

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from config.checks import refuse_wrong_environment
from frontend.body_limit import BodyLimit
from frontend.live.follow import Following
from frontend.live.routing import websocket_urlpatterns

refuse_wrong_environment()
live: list[Any] = [*websocket_urlpatterns]  # the stubs' own element type exists only in the stubs

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(Following(http)),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(live))),
    }
)
