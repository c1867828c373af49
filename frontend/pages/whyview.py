"""Why a job waits, as its page shows it."""

from __future__ import annotations

from typing import Any

from clusters.domain.jobs import JobState
from scheduling.domain.wording import HOUR_S, gpu_hours
from scheduling.why import JobWhy, WouldStart

#: Headings of the answers, by who can make them true.
TITLES = {
    "end": "By itself",
    "space": "By itself",
    "plan": "By a plan",
    "time": "By itself",
    "after": "By itself",
    "quota": "By itself",
    "release": "By releasing it",
    "repair": "By repair",
    "open": "By opening a rack",
    "move": "By moving work",
    "preempt": "By preempting work",
    "slice": "By asking differently",
    "size": "By asking differently",
    "policy": "By policy",
}


def why_context(why: JobWhy) -> dict[str, Any]:
    """What _job_why.html needs."""
    kept = why.reservation
    return {
        "job": {"id": why.job},
        "position": why.position,
        "next": not why.code and (why.position is not None or why.state == JobState.STALLED),
        "queue": why.waiting,
        "kept": {"nodes": len(kept.nodes), "names": ", ".join(kept.nodes), "at_us": kept.starts_at_us} if kept else None,
        "stalled": why.state == JobState.STALLED,
        "lacks": why.lacks,
        "answers": [_answer(found) for found in why.counterfactuals],
    }


def _answer(found: WouldStart) -> dict[str, Any]:
    return {
        "title": TITLES[found.kind],
        "sentence": f"{found.text[:1].upper()}{found.text[1:]}.",
        "cost": None if found.cost_gpu_hours is None else f"{gpu_hours(found.cost_gpu_hours * HOUR_S)} would be done again",
        "at_us": found.at_us,
    }
