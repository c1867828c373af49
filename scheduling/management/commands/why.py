"""`manage.py why JOB --cluster NAME`: why a job waits, and what would let it start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import ClusterError
from clusters.domain.ids import SECOND, Instant
from clusters.management.telling import in_words
from scheduling.domain.wording import HOUR_S, gpu_hours, many
from scheduling.why import JobWhy, SliceLacks, WouldStart, job_why


class Command(BaseCommand):
    """Reads only."""

    help = "Say why a job waits: reasons, place in the queue, what is kept for it, and what would let it start."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", help="the id of a job, such as j000123")
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--json", action="store_true", help="one JSON object instead of sentences")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            found = job_why(options["cluster"], options["job"])
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        self.stdout.write(json.dumps(msgspec.to_builtins(found), indent=2) if options["json"] else "\n".join(lines_of(found)))


def lines_of(found: JobWhy) -> Iterator[str]:
    """The answer in sentences."""
    yield f"{found.job} is {found.state}. {_sentence(found.text)}"
    if found.position is not None:
        yield f"It is number {found.position} of {found.waiting} in the queue."
    if found.reservation is not None:
        kept = found.reservation
        count = len(kept.nodes)
        yield f"{many(count, 'node')} {'is' if count == 1 else 'are'} kept for it, free by {_moment(kept.starts_at_us)}."
    yield from (_lacking(short) for short in found.lacks)
    does = "go on" if found.lacks else "start"
    if found.counterfactuals:
        yield f"What would let it {does}:"
        yield from (f"  - {_would(answer)}" for answer in found.counterfactuals)
    elif found.code:
        yield f"Nothing was found that would let it {does} by itself."


def _lacking(short: SliceLacks) -> str:
    best = ", ".join(f"{other.domain} ({other.free})" for other in short.best)
    nearest = f"nearest elsewhere, by free nodes: {best}" if best else "no other domain has a free node for it"
    return f"Slice {short.slice} lacks {short.missing} of {many(short.nodes, 'node')} in {short.domain}; {nearest}."


def _would(answer: WouldStart) -> str:
    ends = [f"about {_moment(answer.at_us)}"] if answer.at_us is not None else []
    costs = [f"costs {gpu_hours(answer.cost_gpu_hours * HOUR_S)}"] if answer.cost_gpu_hours is not None else []
    more = "; ".join(ends + costs)
    return _sentence(answer.text) + (f" ({more})" if more else "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _moment(at: Instant) -> str:
    return datetime.fromtimestamp(at / SECOND, tz=UTC).strftime("%Y-%m-%d %H:%M:%S") + " cluster time"
