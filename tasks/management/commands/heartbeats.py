"""`manage.py heartbeats [PART ...]`: when each part of the installation last did its work; for people and for health checks."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.ids import SECOND
from clusters.eventlog.log import wall_now
from tasks.heartbeat import MOST_AGE, PARTS, last_beats


class Command(BaseCommand):
    """Fails where a part that was asked about, or any where none was, has not been heard of for too long."""

    help = "Say when each part (pass, slow, tail) last did its work; exit 1 where one has not for too long."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (all)")
        parser.add_argument("--within", type=float, default=MOST_AGE, metavar="SECONDS", help="how old a sign of life may be (%(default)s)")

    def handle(self, *_args: Any, **options: Any) -> None:
        wanted: list[str] = options["parts"] or list(PARTS)
        if unknown := [part for part in wanted if part not in PARTS]:
            raise CommandError(f"there is no part {unknown[0]!r}; say {', '.join(PARTS)}")
        beats, now = last_beats(), wall_now()
        late = []
        for part in wanted:
            age = (now - beats[part]) / SECOND if part in beats else None
            self.stdout.write(f"{part}: {'never heard of' if age is None else f'{age:.0f} s ago'}")
            if age is None or age > options["within"]:
                late.append(part)
        if late:
            raise CommandError(f"no sign of life within {options['within']:g} s: {', '.join(late)}")
