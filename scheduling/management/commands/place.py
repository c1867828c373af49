"""`manage.py place`: answers the placement questions of a file with the engine alone."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import InvalidRequest
from scheduling.cases.answering import Answer, Questions

PROGRESS_S = 2.0  # between two lines of progress


class Command(BaseCommand):
    """Reads questions and writes answers, both JSON; needs no cluster and no database."""

    help = (
        "Answer the questions of a placement-cases/1 or slurm-observed/1 file: who goes where on the nodes it lists, or why not. "
        "A job that waits beside running ones (consolidate) is placed where it fits as it is, else where the fewest moves make room."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("questions", type=Path, metavar="QUESTIONS.json")
        parser.add_argument("--out", type=Path, required=True, metavar="ANSWERS.json", help="file to write; replaced where it is there")

    def handle(self, *_args: Any, questions: Path, out: Path, **_options: Any) -> None:
        try:
            answers = self._answers(Questions(_read(questions)))
        except InvalidRequest as error:
            raise CommandError(f"{questions}: {error}") from error
        _write(out, answers)

    def _answers(self, questions: Questions) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        tally = Counter[str]()
        said = time.monotonic()
        for number, (name, answer) in enumerate(questions.answers(), start=1):
            tally[_kind(answer)] += 1
            if answer is not None:
                found[name] = answer
            if time.monotonic() - said >= PROGRESS_S:
                said = time.monotonic()
                self.stderr.write(f"{number:,} of {len(questions):,} answered")
        self.stdout.write(", ".join(f"{count:,} {kind}" for kind, count in sorted(tally.items())) or "no questions")
        return found


def _kind(answer: Answer | None) -> str:
    if answer is None:
        return "of other kinds, not answered"
    if isinstance(answer, list):
        return "floors answered"
    return "placed" if answer["placed"] else "refused"


def _read(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file}: is not JSON: {error}") from error


def _write(file: Path, answers: dict[str, Answer]) -> None:
    """Write all or nothing: a file that is there already stays as it was until the new one is whole."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(answers) + "\n", encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise CommandError(f"{file}: cannot be written: {error.strerror}") from error
