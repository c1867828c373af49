"""Lines of jobs that wait, and what those jobs were told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.queue import Line, Queue
from clusters.domain.state import Job

REQUEST = JobRequest(name="work", kind=JobKind.TRAINING, nodes=4)
CODES = ("", "quota", "topology-blocked")

told = st.lists(st.tuples(st.sampled_from(CODES), st.integers(0, 9)), min_size=1, max_size=8)


def line_of(jobs: list[Job]) -> Line:
    queue = Queue()
    for job in jobs:
        queue.add(job, aside=False)
    (line,) = queue.lines.values()
    return line


def waiting(number: int, code: str, since: Instant) -> Job:
    job = Job(id=f"j{number}", seq=number, request=REQUEST, submitted_by="ada", submitted_at=0)
    job.blocked, job.blocked_since = code, since
    return job


@given(told, st.integers(0, 9), st.integers(0, 8))
def test_a_code_is_news_to_those_who_were_told_none_or_another_one_long_ago(
    heard: list[tuple[str, Instant]], settled: Instant, gone: int
) -> None:
    jobs = [waiting(number, code, since) for number, (code, since) in enumerate(heard)]
    line = line_of(jobs)
    for job in jobs[: min(gone, len(jobs) - 1)]:
        line.forget(job)
    left = heard[min(gone, len(jobs) - 1) :]
    for code in CODES[1:]:
        expected = any(known == "" or (known != code and since <= settled) for known, since in left)
        assert line.is_news(code, settled) == expected
