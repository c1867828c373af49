"""Traces of jobs: CSV files with one job a line.

Two forms are known by their columns. `job, submit_s, kind, gpus, nodes_at_4, duration_s, status` says what kind of work each job was and
how it ended; `submit_s, duration_s, gpus, vc` says whose it was. Jobs are numbered in order of submission, which is the order of the lines
in most files; number and digest of the file together name a job for good.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from clusters.connectors.simulated.truth import CANCELLED, FAILED, FINISHED
from clusters.domain.constraints import MAX_NAME, MAX_NODES
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import MAX_SECONDS, JobKind

_KINDS = {
    "pretrain": JobKind.TRAINING,
    "evaluation": JobKind.BATCH,
    "debug": JobKind.INTERACTIVE,
    "other": JobKind.BATCH,
}
_OUTCOMES = {"completed": FINISHED, "failed": FAILED, "cancelled": CANCELLED}

#: The columns that tell each form, and those that it may have besides.
_FORMS: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"submit_s", "duration_s", "gpus", "job", "kind", "status"}), frozenset({"nodes_at_4"})),
    (frozenset({"submit_s", "duration_s", "gpus", "vc"}), frozenset()),
)

_DIGEST_BYTES = 16

#: Of a number; longer ones would cost time to read, and Python refuses the longest.
MAX_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One job of a trace."""

    row: int  # place in order of submission
    name: str
    kind: JobKind
    team: str
    gpus: int
    submit_s: int
    duration_s: int
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A file's jobs in order of submission."""

    digest: str
    jobs: tuple[TraceJob, ...]

    @property
    def span_s(self) -> int:
        """From the first submission to the last; at least a second."""
        return max(1, self.jobs[-1].submit_s - self.jobs[0].submit_s)

    @property
    def gpu_seconds(self) -> int:
        """GPU-seconds that the jobs ask for."""
        return sum(job.gpus * job.duration_s for job in self.jobs)


def read_trace(content: bytes) -> Trace:
    """Read a trace; raises InvalidRequest, which names the line and the column."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest("file", content[:20], "give a CSV file in UTF-8") from error
    reader = csv.DictReader(io.StringIO(text))
    try:
        return _read(reader, content)
    except csv.Error as error:
        raise InvalidRequest("file", f"line {reader.line_num}", f"give a CSV file with one job a line ({error})") from error


def _read(reader: csv.DictReader[str], content: bytes) -> Trace:
    columns = frozenset(reader.fieldnames or ())
    if not any(must <= columns <= must | may for must, may in _FORMS):
        known = " or ".join(", ".join(sorted(must)) for must, _ in _FORMS)
        raise InvalidRequest("columns", ", ".join(sorted(map(str, columns)))[:200], f"give a CSV file with the columns {known}")
    read = [_job(line, row) for line, row in enumerate(reader, 2)]
    if not read:
        raise InvalidRequest("file", "no jobs", "give at least one job below the line of column names")
    read.sort(key=lambda job: job.submit_s)
    jobs = tuple(replace(job, row=number) for number, job in enumerate(read))
    return Trace(digest=blake2b(content, digest_size=_DIGEST_BYTES).hexdigest(), jobs=jobs)


def _job(line: int, row: Mapping[str, str | None]) -> TraceJob:
    return TraceJob(
        row=line,  # until all are sorted
        name=_text(line, row, "job") or f"line {line}",
        kind=_KINDS[_one_of(line, row, "kind", tuple(_KINDS), "other")],
        team=_text(line, row, "vc"),
        gpus=_whole(line, row, "gpus", 1, MAX_NODES),  # so many fit the nodes of a request, however few GPUs those have
        submit_s=_whole(line, row, "submit_s", 0),
        duration_s=max(1, _whole(line, row, "duration_s", 0)),
        outcome=_OUTCOMES[_one_of(line, row, "status", tuple(_OUTCOMES), "completed")],
    )


def _text(line: int, row: Mapping[str, str | None], column: str) -> str:
    text = (row.get(column) or "").strip()[:MAX_NAME]
    if text and not text.isprintable():
        raise InvalidRequest(f"line {line}, {column}", text[:40], "give printable characters")
    return text


def _whole(line: int, row: Mapping[str, str | None], column: str, least: int, most: int = MAX_SECONDS) -> int:
    text = (row.get(column) or "").strip()
    if not (text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS and least <= int(text) <= most):
        raise InvalidRequest(f"line {line}, {column}", text[:40], f"give a whole number from {least} to {most}")
    return int(text)


def _one_of(line: int, row: Mapping[str, str | None], column: str, known: tuple[str, ...], absent: str) -> str:
    value = row.get(column)
    text = absent if value is None else value.strip().lower()
    if text not in known:
        raise InvalidRequest(f"line {line}, {column}", text[:40], f"give one of {', '.join(known)}")
    return text
