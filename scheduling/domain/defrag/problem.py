"""Asking for room: for a waiting job, for a slice that has lost its place, or for whole domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clusters.domain.constraints import LevelMode
from clusters.domain.decision import Refusal
from clusters.domain.defrag import PlanAim
from clusters.domain.jobs import ACTIVE
from clusters.domain.state import Job
from clusters.domain.topology import Topology
from scheduling.domain.defrag.ground import Ground
from scheduling.domain.defrag.model import Domain, Problem, Terms
from scheduling.domain.defrag.victims import Victims
from scheduling.domain.levels import equivalent
from scheduling.domain.shape import Shape, shape_of, slice_shape
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial

__all__ = ["Problem", "Terms", "problem_for_domains", "problem_for_job"]

_USUAL = Terms()
#: Aims for which work of the job's own priority may be made to wait.
_MAY_STOP_EQUALS = frozenset({PlanAim.STALL, PlanAim.QUOTA, PlanAim.DOMAINS})


def problem_for_job(
    trial: Trial, job: Job, *, may_wait: bool, use_spares: bool, aim: PlanAim = PlanAim.JOB, terms: Terms = _USUAL
) -> Problem | None:
    """Room for all slices of a job that waits, or for the first slice of a running one that lacks nodes; None where there is no question.

    `use_spares`: whether work that moves may take spares that its new domain owes. A job that runs and is whole needs no room.
    """
    number = _short_slice(job)
    if number is None and job.state in ACTIVE:
        return None
    shape = shape_of(trial.topology, job.request, trial.policy) if number is None else _one_slice(trial, job, number)
    if isinstance(shape, Refusal):
        return None
    ground = Ground(trial, Victims(trial.state, trial.now, terms, job), job, pins=terms.moves or shape.exclusive)
    ground.read(may_wait=may_wait, below=aim not in _MAY_STOP_EQUALS)
    sizes = Counter(shape.sizes)
    targets = _open(trial) & ~trial.shut_to(job.request)
    if number is not None:
        targets &= tether(trial.topology, job, number)
        targets &= ~(1 << trial.topology.domain_index.get(job.slices[number].domain, len(trial.topology.domains)))
    areas, narrowed = _areas(trial.topology, shape)
    return Problem(
        aim=aim,
        job=job.id,
        sizes=tuple(sorted(sizes, reverse=True)),
        counts=tuple(sizes[size] for size in sorted(sizes, reverse=True)),
        whole=shape.exclusive,
        spared=True,
        targets=targets,
        areas=areas,
        domains=_domains(trial, ground, shape, use_spares=use_spares),
        units=tuple(ground.units),
        owners=tuple(ground.owners),
        most_moves=terms.most_moves,
        terms=terms,
        narrowed=narrowed,
        at_seq=trial.state.seq,
        at=trial.now,
    )


def problem_for_domains(trial: Trial, count: int, *, may_wait: bool, use_spares: bool, terms: Terms = _USUAL) -> Problem | None:
    """`count` domains without any work, as an operator or a schedule wants them."""
    if not 1 <= count <= len(trial.topology.domain_index):
        return None
    ground = Ground(trial, Victims(trial.state, trial.now, terms, None), None)
    ground.read(may_wait=may_wait, below=False)
    return Problem(
        aim=PlanAim.DOMAINS,
        job="",
        sizes=(),
        counts=(count,),
        whole=True,
        spared=False,
        targets=_open(trial),
        areas=(),
        domains=_domains(trial, ground, None, use_spares=use_spares),
        units=tuple(ground.units),
        owners=tuple(ground.owners),
        most_moves=terms.most_moves,
        terms=terms,
        narrowed="",
        at_seq=trial.state.seq,
        at=trial.now,
    )


def _short_slice(job: Job) -> int | None:
    """The first slice that lacks nodes, of a job that runs."""
    return next((number for number, part in enumerate(job.slices) if part.lost), None) if job.state in ACTIVE else None


def _one_slice(trial: Trial, job: Job, number: int) -> Shape:
    return slice_shape(trial.topology, job.request, trial.policy, len(job.slices[number].nodes))


def _open(trial: Trial) -> int:
    return sum(1 << index for index, known in enumerate(trial.topology.known) if known) & ~trial.space.closed


def _domains(trial: Trial, ground: Ground, shape: Shape | None, *, use_spares: bool) -> tuple[Domain, ...]:
    found: list[Domain] = []
    for index in range(len(trial.topology.domains)):
        spares, floor = (0, 0) if shape is None else (shape.spares, shape.floor)
        if shape is not None and shape.small:  # the spares that the domain owes are not for it
            floor = max(floor, trial.space.target(index, trial.policy))
        found.append(ground.domain(index, use_spares=use_spares, spares=spares, floor=floor))
    return tuple(found)


def _areas(topology: Topology, shape: Shape) -> tuple[tuple[int, ...], str]:
    """The groups of which one must hold all slices, and in words what of this the job does not ask itself."""
    if len(shape.sizes) == 1:
        return (), ""
    own = [shape.level] if shape.mode is LevelMode.REQUIRED else []
    inner = [equivalent(topology, layer.level) for layer in shape.layers]
    inner += [part.level for part in shape.parts if part.mode is LevelMode.REQUIRED and len(part.sizes) > 1]
    level = _finest(topology, own + inner)
    if not level:
        return (), ""
    narrowed = f"all its slices lie in one {level}" if level not in own else ""
    return tuple(topology.area(level, group) for group in range(topology.group_of[level][-1] + 1)), narrowed


def _finest(topology: Topology, levels: Sequence[str]) -> str:
    known = [level for level in levels if level in topology.group_of]
    return max(known, key=lambda level: topology.group_of[level][-1], default="")
