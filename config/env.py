"""The environment, read once: each SLICEKEEPER_* variable becomes a checked value or a problem.

Reading never raises: settings must load so that a system check can name every wrong variable at once. A value with a
problem falls back to one that cannot do harm (no database, loopback, no secret), and the check stops every command.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clusters.signals.fetching import TOKEN_VARIABLE
from config.database import DatabaseUrlError, connection_settings
from config.logs import FORMATS, TEXT
from config.secret import SECRET_FILE, ensure_secret, read_secret

DATA_DIR = "SLICEKEEPER_DATA_DIR"
DATABASE_URL = "SLICEKEEPER_DATABASE_URL"
REDIS_URL = "SLICEKEEPER_REDIS_URL"
SECRET_KEY = "SLICEKEEPER_SECRET_KEY"
BIND = "SLICEKEEPER_BIND"
ALLOWED_HOSTS = "SLICEKEEPER_ALLOWED_HOSTS"
HTTPS = "SLICEKEEPER_HTTPS"
LOG_FORMAT = "SLICEKEEPER_LOG_FORMAT"
METRICS_TOKEN = "SLICEKEEPER_METRICS_TOKEN"
SHARED = "SLICEKEEPER_SHARED"  # read by the tests only
PORT = "PORT"
#: Read by signal sources, and by work on local nodes (slicekeeper_worker).
_ELSEWHERE = re.compile(rf"{TOKEN_VARIABLE}.*|SLICEKEEPER_(URL|TOKEN|CLUSTER|JOB|NODE|SOCKETS|PORT|MASTER_ADDR|GENERATION)")
KNOWN = (DATA_DIR, DATABASE_URL, REDIS_URL, SECRET_KEY, BIND, ALLOWED_HOSTS, HTTPS, LOG_FORMAT, METRICS_TOKEN, SHARED)

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "::")
SECRET_MIN_LENGTH = 50  # characters, as Django's own deployment check asks
METRICS_TOKEN_MIN_LENGTH = 20  # characters: guessing is not limited there
DEFAULT_PORT = 8000
MAX_PORT = 65_535

_HOST = re.compile(r"\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One variable that is wrong, and what would be right."""

    code: str  # stable id of the system check, e.g. "E001"
    message: str  # names the variable and its value (never a secret)
    hint: str  # what would be right
    fatal: bool = True  # False: a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything the settings take from outside."""

    data_dir: Path
    databases: dict[str, dict[str, object]]  # empty when the URL is wrong
    redis_url: str | None
    secret_key: str  # empty when there is none yet
    bind: str  # address to listen on
    port: int
    allowed_hosts: tuple[str, ...]
    https: bool  # pages are reached by https: secure cookies, redirect, HSTS
    log_format: str
    metrics_token: str  # "" where none is set: the metrics are for this machine only
    problems: tuple[Problem, ...] = field(default=())

    @property
    def embedded(self) -> bool:
        """One process does everything; a Redis URL says that there are several."""
        return self.redis_url is None

    @property
    def public_url(self) -> str:
        """The address that people type to reach the pages, without a slash at its end."""
        if self.https:
            names = [host for host in self.allowed_hosts if host not in LOOPBACK_HOSTS]
            return f"https://{names[0] if names else 'localhost'}"
        host = "localhost" if self.bind in EVERYWHERE else self.bind
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def read(environ: Mapping[str, str], base_dir: Path) -> Environment:
    """Turn the variables into values, collecting what is wrong with each."""
    problems: list[Problem] = []
    data_dir = _data_dir(environ, base_dir, problems)
    redis_url = _redis_url(environ, problems)
    embedded = not environ.get(REDIS_URL)
    bind = _bind(environ, problems)
    _unknown_names(environ, problems)
    return Environment(
        data_dir=data_dir,
        databases=_databases(environ, data_dir, problems),
        redis_url=redis_url,
        secret_key=_secret_key(environ, data_dir, problems, embedded=embedded),
        bind=bind,
        port=_port(environ, problems),
        allowed_hosts=_allowed_hosts(environ, bind, problems, embedded=embedded),
        https=_https(environ, problems, embedded=embedded),
        log_format=_log_format(environ, problems),
        metrics_token=_metrics_token(environ, problems),
        problems=tuple(problems),
    )


def _data_dir(environ: Mapping[str, str], base_dir: Path, problems: list[Problem]) -> Path:
    path = (base_dir / (environ.get(DATA_DIR) or "var")).absolute()
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        problems.append(
            Problem(
                code="E001",
                message=f"{DATA_DIR} is {str(path)!r}, where this user cannot keep files.",
                hint=f"Name a directory that can be written, or make {str(existing)!r} one.",
            )
        )
    return path


def _databases(environ: Mapping[str, str], data_dir: Path, problems: list[Problem]) -> dict[str, dict[str, object]]:
    url = environ.get(DATABASE_URL) or f"sqlite:///{data_dir / 'slicekeeper.sqlite3'}"
    try:
        return {"default": connection_settings(url)}
    except DatabaseUrlError as error:
        problems.append(Problem(code="E002", message=f"{DATABASE_URL}: {error}", hint=error.hint))
        return {}


def _redis_url(environ: Mapping[str, str], problems: list[Problem]) -> str | None:
    url = environ.get(REDIS_URL)
    if not url:
        return None
    if not re.match(r"(rediss?://[^/?#]+|unix:///)", url):
        problems.append(
            Problem(
                code="E003",
                message=f"{REDIS_URL} does not name a Redis server: it starts with {url.split('@')[-1][:20]!r}.",
                hint="Write redis://HOST:6379/0, rediss://USER:PASSWORD@HOST:6379/0 or unix:///PATH; "
                "leave it unset to run everything in one process.",
            )
        )
    return url


def _secret_key(environ: Mapping[str, str], data_dir: Path, problems: list[Problem], *, embedded: bool) -> str:
    secret = environ.get(SECRET_KEY)
    if secret is None and embedded:
        return _kept_secret(data_dir / SECRET_FILE, problems)
    if secret is None or len(secret) < SECRET_MIN_LENGTH:
        problems.append(
            Problem(
                code="E004",
                message=f"{SECRET_KEY} has {len(secret or '')} characters; it signs logins and needs at least {SECRET_MIN_LENGTH}.",
                hint="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))', and give the same one to every process.",
            )
        )
    return secret or ""


def _kept_secret(path: Path, problems: list[Problem]) -> str:
    """The secret of the first run, "" before that."""
    try:
        secret = read_secret(path)
        trouble = f"holds {len(secret)} characters" if path.exists() and len(secret) < SECRET_MIN_LENGTH else ""
    except (OSError, UnicodeDecodeError) as error:
        secret, trouble = "", f"cannot be read ({error})"
    if trouble:
        problems.append(
            Problem(
                code="E004",
                message=f"{str(path)!r} is to hold the secret that signs logins, but {trouble}.",
                hint="Let this user read it; or remove it: the next start makes another, and everybody signs in again.",
            )
        )
    return secret


def _bind(environ: Mapping[str, str], problems: list[Problem]) -> str:
    text = environ.get(BIND, "127.0.0.1")
    if text == "localhost":
        return text
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        problems.append(
            Problem(
                code="E005",
                message=f"{BIND} is {text!r}, which is not an address to listen on.",
                hint="Write an IP address without a port: 127.0.0.1 (this machine only), 0.0.0.0 or :: "
                f"(everyone who can reach it). The port is {PORT}.",
            )
        )
        return "127.0.0.1"


def _port(environ: Mapping[str, str], problems: list[Problem]) -> int:
    text = environ.get(PORT, str(DEFAULT_PORT))
    if text.isascii() and text.isdigit() and 0 < int(text) <= MAX_PORT:
        return int(text)
    problems.append(
        Problem(
            code="E006",
            message=f"{PORT} is {text!r}, which is not a port.",
            hint=f"Write a number from 1 to {MAX_PORT}, or leave it unset for {DEFAULT_PORT}.",
        )
    )
    return DEFAULT_PORT


def _allowed_hosts(environ: Mapping[str, str], bind: str, problems: list[Problem], *, embedded: bool) -> tuple[str, ...]:
    hosts = tuple(part.strip().lower() for part in environ.get(ALLOWED_HOSTS, "").split(",") if part.strip())
    hint = "List the names people type into the browser, separated by commas: gpu.example.org,10.1.2.3"
    wrong = [host for host in hosts if not _HOST.fullmatch(host)]
    if wrong:
        problems.append(
            Problem(
                code="E007",
                message=f"{ALLOWED_HOSTS} holds {wrong[0]!r}, which is not a host name.",
                hint=f"{hint} (no scheme, port or '*').",
            )
        )
    if not hosts and not (embedded and bind in {*LOOPBACK_HOSTS, "::1"}):
        problems.append(
            Problem(
                code="W001",
                message=f"{ALLOWED_HOSTS} is not set: only requests to localhost will be answered.",
                hint=hint,
                fatal=False,
            )
        )
    return tuple(dict.fromkeys((*LOOPBACK_HOSTS, *(host for host in hosts if host not in wrong))))


def _https(environ: Mapping[str, str], problems: list[Problem], *, embedded: bool) -> bool:
    text = environ.get(HTTPS)
    if text is None:
        return not embedded
    if text not in _SWITCH:
        problems.append(
            Problem(
                code="E008",
                message=f"{HTTPS} is {text!r}, which is neither on nor off.",
                hint="on: people reach the pages by https (default with Redis); off: by plain http.",
            )
        )
    return _SWITCH.get(text, True)


def _log_format(environ: Mapping[str, str], problems: list[Problem]) -> str:
    text = environ.get(LOG_FORMAT) or TEXT
    if text in FORMATS:
        return text
    problems.append(
        Problem(code="E009", message=f"{LOG_FORMAT} is {text!r}, which is no format of log lines.", hint=f"Write {' or '.join(FORMATS)}.")
    )
    return TEXT


def _metrics_token(environ: Mapping[str, str], problems: list[Problem]) -> str:
    token = environ.get(METRICS_TOKEN, "")
    if not token or (len(token) >= METRICS_TOKEN_MIN_LENGTH and token.isascii() and token.isprintable() and " " not in token):
        return token
    problems.append(
        Problem(
            code="E010",
            message=f"{METRICS_TOKEN} has {len(token)} characters; it needs {METRICS_TOKEN_MIN_LENGTH} or more, printable, no spaces.",
            hint="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'; unset, only this machine reads the metrics.",
        )
    )
    return ""


def _unknown_names(environ: Mapping[str, str], problems: list[Problem]) -> None:
    for name in sorted(environ):
        if name.startswith("SLICEKEEPER_") and name not in KNOWN and not _ELSEWHERE.fullmatch(name):
            near = difflib.get_close_matches(name, KNOWN, n=1)
            problems.append(
                Problem(
                    code="W002",
                    message=f"{name} is set, but nothing reads it.",
                    hint=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(KNOWN)}.",
                    fatal=False,
                )
            )


def prepare(environment: Environment) -> None:
    """Make what a first run needs on disk: the data directory and, where one process does everything, its secret. Raises OSError."""
    if any(problem.fatal for problem in environment.problems):
        return
    environment.data_dir.mkdir(parents=True, exist_ok=True)
    if environment.embedded and not environment.secret_key:
        ensure_secret(environment.data_dir / SECRET_FILE)
