"""What a job asks for, as its page tells it: label and value, in reading order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusters.domain.constraints import JobPart, LevelMode, ParallelPlan
from clusters.domain.jobs import JobRequest, Recovery
from frontend.pages.durations import span_of
from frontend.selectors.jobs import JobFacts
from frontend.selectors.telling import size_of
from frontend.templatetags.states import instant, kind_word

Fact = tuple[str, str]


def facts_of(job: JobFacts) -> Iterator[Fact]:
    """The request as it was submitted, and what the job has been through since."""
    request = job.request
    yield "Size", size_of(request)
    yield "Kind", kind_word(request.kind.value)
    yield from _given(("Team", request.team), ("Submitted by", job.submitted_by), ("Class", request.priority_class))
    yield "Priority", str(job.priority)
    yield from _cut(request)
    yield from _place(request)
    yield from _times(request)
    yield "May be restarted", "yes" if request.restartable else "no"
    yield "After a failed node", "state from a peer" if request.recovery is Recovery.PEER else "last checkpoint"
    if job.checkpoint_step is not None:
        yield "Last checkpoint", f"step {job.checkpoint_step:,}"
    yield "Swaps, moves", f"{job.swaps}, {job.moves}"
    if job.preemptions:
        yield "Preempted", "once" if job.preemptions == 1 else f"{job.preemptions} times"


def _given(*facts: Fact) -> Iterator[Fact]:
    return ((label, value) for label, value in facts if value)


def _cut(request: JobRequest) -> Iterator[Fact]:
    if request.slice_size is not None:
        yield "Slice unit", f"{_nodes(request.slice_size)}{', with a tail' if request.tail else ''}"
    if request.max_slice is not None:
        yield "Largest slice", _nodes(request.max_slice)
    if request.spares is not None:
        yield "Spares", f"{request.spares} in each domain"
    if request.plan is not None:
        yield "Plan", plan_words(request.plan)
    for part in request.parts:
        yield f"Part {part.name}", _part(part)


def _place(request: JobRequest) -> Iterator[Fact]:
    if request.level:
        yield "Keeps together", _together(request.level, request.mode)
    if request.layers:
        yield "Layers", ", ".join(f"{layer.level} {layer.size}" for layer in request.layers)
    if request.exclusive:
        yield "Exclusive", "no other work in its domains"


def _times(request: JobRequest) -> Iterator[Fact]:
    spans = (
        ("Expected run time", request.expected_run_s),
        ("Time limit", request.time_limit_s),
        ("Checkpoint every", request.checkpoint_interval_s),
    )
    for label, seconds in spans:
        if seconds is not None:
            yield label, span_of(seconds)
    if request.not_before is not None:
        yield "Not before", f"{instant(request.not_before)} UTC"
    if request.after:
        yield "After", ", ".join(request.after)


def _part(part: JobPart) -> str:
    words = [_nodes(part.nodes)]
    if part.slice_size is not None:
        words.append(f"slice unit {part.slice_size}")
    if part.max_slice is not None:
        words.append(f"slices of at most {part.max_slice}")
    if part.level:
        words.append(_together(part.level, part.mode))
    return ", ".join(words)


def _together(level: str, mode: LevelMode) -> str:
    return {LevelMode.REQUIRED: f"in one {level}, or it waits", LevelMode.PREFERRED: f"in one {level} if one has room"}.get(mode, level)


def plan_words(plan: ParallelPlan) -> str:
    """E.g. "TP 4 × EP 8 × DP 2": degrees of one are left out."""
    degrees = [f"{name.upper()} {degree}" for name in ("tp", "ep", "pp", "dp") if (degree := getattr(plan, name)) > 1]
    return " × ".join(degrees) or "one rank"


def part_names(parts: Sequence[JobPart], sizes: Sequence[int]) -> list[str]:
    """The part that each slice belongs to: slices come part by part; "" for a job without parts."""
    left = [(part.name, part.nodes) for part in parts]
    names: list[str] = []
    for size in sizes:
        while left and left[0][1] <= 0:
            left.pop(0)
        names.append(left[0][0] if left else "")
        if left:
            left[0] = (left[0][0], left[0][1] - size)
    return names


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
