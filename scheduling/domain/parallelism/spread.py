"""How the groups of a plan lie on domains: for each kind of group, how many of its ranks are in each of the domains it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from clusters.domain.constraints import ParallelPlan

#: Ranks of one group in each domain it touches, most first.
Shares = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The different ways in which the groups of each kind lie; equal ones are kept once."""

    tp: frozenset[Shares]
    ep: frozenset[Shares]
    dp: frozenset[Shares]  # ranks with the same shard of an expert
    dense: frozenset[Shares]  # ranks with the same shard of all else: their expert ranks too
    stages_apart: bool  # some stage is in another domain than the next

    @property
    def groups_whole(self) -> bool:
        """Whether no TP and no EP group leaves its domain."""
        return all(len(shares) == 1 for shares in self.tp | self.ep)


def spread_of(domains: Sequence[Hashable], plan: ParallelPlan) -> Spread:
    """The spread of ranks whose domains these are, by rank; there is one for each rank of the plan."""
    stage = plan.group
    replica = stage * plan.pp
    shards = [range(pp * stage + tp, pp * stage + tp + stage, plan.tp) for pp in range(plan.pp) for tp in range(plan.tp)]
    dense = ([replica * dp + rank for dp in range(plan.dp) for rank in shard] for shard in shards)
    return Spread(
        tp=_shares(domains, _runs(plan.gpus, plan.tp, 1)),
        ep=_shares(domains, _runs(plan.gpus, plan.ep, plan.tp)),
        dp=_shares(domains, _runs(plan.gpus, plan.dp, replica)),
        dense=_shares(domains, dense),
        stages_apart=any(domains[rank] != domains[rank + stage] for rank in _before_last_stage(plan)),
    )


def one_domain(plan: ParallelPlan) -> Spread:
    """The spread of a plan that lies in one domain as a whole, however large that would have to be."""
    return Spread(
        tp=frozenset({(plan.tp,)}),
        ep=frozenset({(plan.ep,)}),
        dp=frozenset({(plan.dp,)}),
        dense=frozenset({(plan.ep * plan.dp,)}),
        stages_apart=False,
    )


def _runs(total: int, size: int, stride: int) -> Iterator[range]:
    """The groups of `size` ranks that are `stride` apart."""
    span = size * stride
    return (range(start + first, start + first + span, stride) for start in range(0, total, span) for first in range(stride))


def _before_last_stage(plan: ParallelPlan) -> Iterable[int]:
    stage = plan.group
    replica = stage * plan.pp
    return chain.from_iterable(range(start, start + replica - stage) for start in range(0, plan.gpus, replica))


def _shares(domains: Sequence[Hashable], groups: Iterable[Sequence[int]]) -> frozenset[Shares]:
    return frozenset(tuple(sorted(Counter(domains[rank] for rank in group).values(), reverse=True)) for group in groups)
