"""All settings, driven by the environment (see config/env.py for the variables and what is checked).

Without SLICEKEEPER_REDIS_URL the installation is embedded: one process serves pages, runs tasks and drives connectors.
With it, web processes, Celery workers and beat run apart and meet in the database and Redis.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whitenoise.compress import Compressor

from config import env
from config.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = env.read(os.environ, BASE_DIR)
EMBEDDED = ENVIRONMENT.embedded
DATA_DIR = ENVIRONMENT.data_dir

VERSION = "0.1.0"

# ---- core
DEBUG = False
SECRET_KEY = ENVIRONMENT.secret_key
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
INSTALLED_APPS = [
    "config",
    "clusters",
    "scheduling",
    "tasks",
    "frontend",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "config.probes.ProbeMiddleware",  # answers before hosts and logins are looked at: probes know an address, not a name
    "config.requests.RequestMiddleware",  # names, times and counts what all the others do
    "django.middleware.security.SecurityMiddleware",
    "config.static.StaticFilesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "frontend.accounts.access.AccessMiddleware",  # every route, by its row in frontend/accounts/routes.py
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "frontend.accounts.context.may",
            ],
        },
    },
]

# ---- data
DATABASES = ENVIRONMENT.databases
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

#: A fleet's NodeList is the largest thing people upload: 16 MiB holds about 3,000 nodes as kubectl prints them.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

# ---- sessions and logins
#: Signed cookies: a page view writes nothing to the database.
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = ENVIRONMENT.https
CSRF_COOKIE_SECURE = ENVIRONMENT.https
LOGIN_URL = "frontend:login"
LOGIN_REDIRECT_URL = "/"

# ---- headers
# uvicorn takes the scheme from X-Forwarded-Proto only when the proxy is one it was told to trust.
SECURE_SSL_REDIRECT = ENVIRONMENT.https
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if ENVIRONMENT.https else 0
# Sub-domains and preload lists bind names that are not ours: the owner of the domain decides.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],  # covers the websocket of the same origin
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    },
}

# ---- static files
STATIC_URL = "static/"
#: Embedded runs serve straight from the source tree; otherwise `collectstatic` gives each file a name by its content.
STATIC_ROOT = None if EMBEDDED else BASE_DIR / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if EMBEDDED
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = EMBEDDED
WHITENOISE_MAX_AGE = 0 if EMBEDDED else 60  # seconds, for names without a hash
WHITENOISE_ALLOW_ALL_ORIGINS = False
#: Source maps are megabytes that no page loads.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")

# ---- API
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "frontend.api.errors.exception_handler",
    "STRICT_JSON": True,
    "LIST_SERIALIZER_ERRORS_AS_DICT": True,  # by place in the list
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Slicekeeper",
    "DESCRIPTION": "Clusters, jobs, placement and live state of rack-scale GPU fleets.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.1",  # the JSON Schema that msgspec describes values in
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

LOGGING = logging_config(ENVIRONMENT.log_format)
