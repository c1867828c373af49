"""Which slice size suits a mix of jobs.

A size is of use only to jobs that are cut into slices of it: 32 nodes are 16 + 16 under a policy of 16, of 17 and of 18, so to such a job
17 and 18 are no choice at all. For each size the jobs are therefore cut as placement would cut them, and the mix uses

    1 / sum over widths w of (share of node-time on slices of w / expected usable nodes with slices of w)

nodes of the fleet, each width having domains of its own. Among the sizes that come within MARGIN of the best the largest is advised, since
it keeps more GPUs on one fabric.

The advice is one for a fleet and a mix, whatever sizes somebody looks at: it is chosen among `worth_advising`. Smaller ones would always
use a little more, down to single nodes, and be of no use to work that needs a fabric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.slices import auto_slice, least_slice, slice_sizes
from scheduling.domain.capacity.compare import advantage
from scheduling.domain.capacity.model import Fleet, Outages, check_sizes, expected

#: Share of usable nodes that a larger slice may cost.
MARGIN = 0.01

#: What the published advantage of 16-node over 18-node slices holds for.
_HEADLINE_FLEET = Fleet(domains=((18, 1),))
_HEADLINE_OUTAGES = Outages(unavailability=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShape:
    """What of a job decides how it is cut."""

    nodes: int
    unit: int = 1  # nodes: slices are whole multiples of it
    max_slice: int | None = None
    tail: bool = False

    def slices(self, policy_size: int) -> tuple[int, ...]:
        """Its slices under a policy; raises InvalidRequest where it cannot be cut."""
        request = JobRequest(
            name="shape", kind=JobKind.TRAINING, nodes=self.nodes, slice_size=self.unit, max_slice=self.max_slice, tail=self.tail
        )
        return slice_sizes(request, self.nodes, policy_size)


Mix = Mapping[JobShape, float]  # shape -> node-time, in any unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One slice size for the whole mix."""

    size: int
    widths: tuple[tuple[int, float], ...]  # (nodes of a slice, share of node-time on such slices), widest first
    usable: float  # nodes of the fleet that the mix can use
    reason: str = ""  # why it is no choice; empty when it is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to set the slice size to."""

    size: int | None  # None: none of the sizes is of use to the mix
    choices: tuple[Choice, ...]  # every size asked about, in order
    elsewhere: tuple[int, ...]  # other sizes that would be advised within the interval of the unavailability


def worth_advising(fleet: Fleet) -> range:
    """The sizes among which a size is chosen: from half of the usual slice, as for the slices of a plan, up to the usual domain."""
    usual = auto_slice(fleet.usual_size)
    return range(least_slice(usual), fleet.usual_size + 1)


def advise(fleet: Fleet, outages: Outages, mix: Mix, sizes: Sequence[int], ends: Iterable[Outages] = ()) -> Advice:
    """Advise one of the sizes; `ends` are outages that are as likely, to see whether the advice holds there. Raises InvalidRequest."""
    check_sizes(sizes)
    if not any(mix.values()):
        raise InvalidRequest("mix", dict(mix), "give at least one job on whole nodes")
    choices = _choices(fleet, outages, mix, sizes)
    size = _best(choices)
    others = {_best(_choices(fleet, end, mix, sizes)) for end in ends}
    return Advice(size=size, choices=choices, elsewhere=tuple(sorted(other for other in others if other not in (None, size))))


def caveat(fleet: Fleet, outages: Outages) -> str:
    """What must stand beside the 27 %."""
    headline = advantage(_HEADLINE_FLEET, (16,), (18,), _HEADLINE_OUTAGES) or 1.0
    text = (
        f"16-node slices use {100 * (headline - 1):.0f} % more nodes than 18-node ones at 2 % unavailability with independent failures, "
        "and only for jobs that need a rack"
    )
    here = advantage(fleet, (16,), (18,), outages)
    if here is None:
        return text
    rest = f" and {100 * outages.whole_rack_share:.0f} % of it whole-rack outages" if outages.whole_rack_share else ""
    at = f"{100 * outages.unavailability:.2f} % with correlation {outages.rho:.3f}{rest}"
    return f"{text}; here, at {at}, the difference is {100 * (here - 1):+.0f} %"


def _choices(fleet: Fleet, outages: Outages, mix: Mix, sizes: Sequence[int]) -> tuple[Choice, ...]:
    known: dict[int, float] = {}
    return tuple(_choice(fleet, outages, mix, size, known) for size in sizes)


def _choice(fleet: Fleet, outages: Outages, mix: Mix, size: int, known: dict[int, float]) -> Choice:
    widths = _widths(mix, size)
    for width, _ in widths:
        if width not in known:
            known[width] = expected(fleet, (width,), outages)
    useless = [width for width, _ in widths if not known[width]]
    if useless:
        return Choice(size=size, widths=widths, usable=0.0, reason=f"a slice of {useless[0]} nodes has no domain that could hold it")
    nodes = 1 / sum(share / known[width] for width, share in widths)
    if all(width != size for width, _ in widths):
        cut = ", ".join(str(width) for width, _ in widths)
        return Choice(size=size, widths=widths, usable=nodes, reason=f"no job of the mix makes a slice of {size} nodes: theirs have {cut}")
    return Choice(size=size, widths=widths, usable=nodes)


def _widths(mix: Mix, size: int) -> tuple[tuple[int, float], ...]:
    whole = sum(mix.values())
    shares: dict[int, float] = {}
    for shape, weight in mix.items():
        for width in shape.slices(size) if weight else ():
            shares[width] = shares.get(width, 0.0) + weight / whole * width / shape.nodes
    return tuple(sorted(shares.items(), reverse=True))


def _best(choices: Sequence[Choice]) -> int | None:
    fit = [choice for choice in choices if not choice.reason]
    most = max((choice.usable for choice in fit), default=0.0)
    return max((choice.size for choice in fit if choice.usable >= most * (1 - MARGIN)), default=None)
