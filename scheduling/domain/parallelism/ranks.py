"""Which rank runs on which GPU: the rank order of a placed job.

Nothing is stored. The order follows from the assignment alone: slices in their order, in a slice the slots in theirs, in a slot the GPUs of
its node. So a swap changes the ranks of one node and no others, and a move those of one slice. Rank r is tensor rank r mod tp, expert rank
(r div tp) mod ep, stage (r div tp ep) mod pp, replica r div (tp ep pp): the order tp-ep-pp-dp, in which stages that talk to each other are
neighbours. Where slices hold whole groups, as `check_plan` asks, each group lies in one domain whatever the domains are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusters.domain.constraints import ParallelPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSlot:
    """One slot of a slice: a node, or none where it was lost and not replaced yet."""

    node: str | None
    gpus: tuple[int, ...]  # indexes of the job's GPUs on the node


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSlice:
    """One slice of an assignment."""

    domain: str
    slots: tuple[PlacedSlot, ...]

    @property
    def ranks(self) -> int:
        """GPUs of the slice: one rank each."""
        return sum(len(slot.gpus) for slot in self.slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Where a rank stands in the plan, each from 0."""

    tp: int
    ep: int
    pp: int
    dp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank and the GPU that it runs on."""

    rank: int
    node: str | None
    gpu: int  # index on the node
    slice: int
    slot: int
    domain: str
    at: Coordinates | None  # none without a plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMap:
    """All ranks of an assignment, by rank."""

    ranks: tuple[Rank, ...]
    plan: ParallelPlan | None
    problem: str  # why the plan does not hold here, in words; "" where it does, or where there is none

    @property
    def domains(self) -> tuple[str, ...]:
        """The domain of each rank."""
        return tuple(rank.domain for rank in self.ranks)


def rank_map(slices: Sequence[PlacedSlice], plan: ParallelPlan | None) -> RankMap:
    """The ranks of an assignment; without coordinates where the plan does not count as many ranks as it has GPUs."""
    order = _slice_order(slices, 1 if plan is None else plan.group)
    total = sum(part.ranks for part in slices)
    counted = plan is not None and plan.gpus == total
    ranks = tuple(_ranks(slices, order, plan if counted else None))
    return RankMap(ranks=ranks, plan=plan, problem=_problem(ranks, plan, total))


def coordinates(plan: ParallelPlan, rank: int) -> Coordinates:
    """Where the rank stands in the plan."""
    rest, tp = divmod(rank, plan.tp)
    rest, ep = divmod(rest, plan.ep)
    dp, pp = divmod(rest, plan.pp)
    return Coordinates(tp=tp, ep=ep, pp=pp, dp=dp)


def _slice_order(slices: Sequence[PlacedSlice], group: int) -> list[int]:
    """Slices in their order; where they do not hold whole groups, those of one domain side by side, so that they may together."""
    order = list(range(len(slices)))
    if any(part.ranks % group for part in slices):
        first: dict[str, int] = {}
        for number, part in enumerate(slices):
            first.setdefault(part.domain, number)
        order.sort(key=lambda number: (first[slices[number].domain], number))
    return order


def _ranks(slices: Sequence[PlacedSlice], order: Sequence[int], plan: ParallelPlan | None) -> Iterator[Rank]:
    rank = 0
    for number in order:
        for slot, held in enumerate(slices[number].slots):
            for gpu in held.gpus:
                yield Rank(
                    rank=rank,
                    node=held.node,
                    gpu=gpu,
                    slice=number,
                    slot=slot,
                    domain=slices[number].domain,
                    at=None if plan is None else coordinates(plan, rank),
                )
                rank += 1


def _problem(ranks: Sequence[Rank], plan: ParallelPlan | None, total: int) -> str:
    if plan is None:
        return ""
    if plan.gpus != total:
        return f"the plan has {plan.gpus} ranks, the job {total} GPUs"
    starts = range(0, total, plan.group)
    torn = sum(len({rank.domain for rank in ranks[start : start + plan.group]}) > 1 for start in starts)
    return f"{torn} of {len(starts)} TP x EP groups leave their domain" if torn else ""
