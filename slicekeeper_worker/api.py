"""The control plane's API, as workers use it: each call is tried again while nobody answers, and errors say what the answer said."""

from __future__ import annotations

import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Seconds before the first repetition, the longest pause, and all of them together unless a caller says otherwise.
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
PATIENCE = 60.0

#: Seconds that an answer may take beyond what it was asked to wait for.
MARGIN = 15.0

#: The server is busy, away or restarting: what is asked again may be answered.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})

_TOKEN = re.compile(r"[A-Za-z0-9_.~+/=-]+")


class ApiError(Exception):
    """The control plane refused."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}" if code else f"{status}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail


class Unreachable(Exception):
    """The control plane did not answer for as long as somebody was willing to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One cluster of one control plane."""

    url: str  # where it answers: "https://slicekeeper.example"
    token: str
    cluster: str
    patience: float = PATIENCE  # seconds for which a call is tried again

    def __post_init__(self) -> None:
        """Refuse what no request could carry; raises ValueError. White space around the token is no part of it."""
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(f"url: {self.url!r} is no address of a control plane; give one like https://slicekeeper.example")
        if not _TOKEN.fullmatch(self.token.strip()):
            raise ValueError("token: give it as it was shown, letters, digits, - and _ (what was given is not repeated here)")

    def get(self, path: str, query: Mapping[str, str | int] | None = None, *, wait: float = 0.0) -> Any:
        """What is at a path below the cluster; `wait` is how long the answer itself may take."""
        return self._call("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""), None, wait)

    def post(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        """Send something; with the same key it is carried out once, however often it is sent."""
        return self._call("POST", path, json.dumps(dict(body)).encode(), 0.0, {"Idempotency-Key": key} if key else {})

    def _call(self, method: str, path: str, body: bytes | None, wait: float, headers: Mapping[str, str] | None = None) -> Any:
        url = f"{self.url.rstrip('/')}/api/v1/clusters/{urllib.parse.quote(self.cluster)}/{path}"
        sent = {"Authorization": f"Bearer {self.token.strip()}", "Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(url, body, sent, method=method)
        return persist(lambda: _answer(request, wait + MARGIN), self.patience)


def _answer(request: urllib.request.Request, timeout: float) -> Any:
    """The answer as JSON; raises ApiError, or OSError where there is none."""
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error) from None


def _refusal(error: urllib.error.HTTPError) -> ApiError:
    text = error.read().decode("utf-8", "replace")
    try:
        problem = json.loads(text)
        return ApiError(error.code, str(problem.get("code", "")), str(problem.get("detail") or problem.get("title") or error.reason))
    except (ValueError, AttributeError):
        return ApiError(error.code, "", text.strip()[:200] or str(error.reason))


def persist(call: Callable[[], Any], patience: float, sleep: Callable[[float], None] = time.sleep) -> Any:
    """Call until there is an answer, with longer and longer pauses; raises ApiError, Unreachable."""
    ends, pause = time.monotonic() + patience, FIRST_PAUSE
    while True:
        try:
            return call()
        except ApiError as error:
            if error.status not in PASSING:
                raise
            trouble: Exception = error
        except (OSError, http.client.HTTPException, ValueError) as error:
            trouble = error
        left = ends - time.monotonic()
        if left <= 0:
            raise Unreachable(f"the control plane has not answered for {patience:g} s: {trouble}") from trouble
        sleep(min(left, pause * random.uniform(0.5, 1.0)))
        pause = min(LONGEST_PAUSE, 2 * pause)
