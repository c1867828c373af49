"""Sending what waits: in batches, oldest first, again and again with growing pauses until the server has it.

A batch that comes twice does no harm. What the server says can never be right is dropped and told on standard error; everything else waits.
"""

from __future__ import annotations

import json
import logging
import random
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from slicekeeper_agent.spool import Spool, Wire

logger = logging.getLogger("slicekeeper_agent")

BATCH = 500
BATCH_BYTES = 700 * 1024
TIMEOUT_SECONDS = 15.0
PAUSES = (1.0, 60.0)  # seconds: the first pause, and the longest
_PLACE = re.compile(r"signals\[(\d+)\]")
#: The server has read the request and will never take it.
_NEVER = (400, 409, 413, 422)


@dataclass(slots=True, kw_only=True)
class Sender:
    """Sends the signals of one node."""

    url: str
    token: str
    feed: str
    opener: urllib.request.OpenerDirector
    pause: float = 0.0  # seconds before the next try
    size: int = BATCH  # of the next batch

    def send(self, spool: Spool) -> bool:
        """Send one batch; whether the server has dealt with it. Sets the pause before the next try."""
        batch = spool.first(self.size, BATCH_BYTES)
        if not batch:
            return True
        try:
            self._post(batch)
        except urllib.error.HTTPError as error:
            with error:
                answer = error.read(64 * 1024)
            if error.code in _NEVER:
                self._refused(spool, batch, error.code, answer)
                return True
            logger.warning("the server answered %d; %d signals wait", error.code, len(spool))
            self._back_off()
            return False
        except (OSError, ValueError) as error:
            logger.warning("the server cannot be reached (%s); %d signals wait", error, len(spool))
            self._back_off()
            return False
        spool.done(len(batch))
        self.pause, self.size = 0.0, min(BATCH, self.size * 2)
        return True

    def _post(self, batch: list[Wire]) -> None:
        body = json.dumps({"feed": self.feed, "signals": batch}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        with self.opener.open(urllib.request.Request(self.url, body, headers), timeout=TIMEOUT_SECONDS) as answer:
            answer.read(64 * 1024)

    def _refused(self, spool: Spool, batch: list[Wire], status: int, answer: bytes) -> None:
        """Drop the signals that the answer names; where it names none, send one at a time until the one that is wrong shows."""
        problem = _problem(answer)
        errors = problem.get("errors")
        fields = [str(error.get("field", "")) for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
        named = {int(place[1]) for field in fields if (place := _PLACE.match(field))}
        wrong = {signal["seq"] for place, signal in enumerate(batch) if place in named or len(batch) == 1}
        if wrong:
            logger.error("the server refused %d signals (%d): %s", len(wrong), status, problem.get("detail", ""))
            spool.remove(wrong)
        else:
            self.size = 1

    def _back_off(self) -> None:
        first, longest = PAUSES
        self.pause = min(longest, max(first, self.pause * 2)) * random.uniform(0.5, 1.0)


def make_opener() -> urllib.request.OpenerDirector:
    """Opens the server and follows it nowhere else: a token is for one address."""

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    return urllib.request.build_opener(NoRedirects)


def _problem(answer: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(answer)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
