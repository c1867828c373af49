"""The true cause of a refusal, where it is neither that nodes are taken nor that they lie in the wrong places.

policy   the request would be placed now if `min_spares` were 0: the nodes are there, and must stay free
health   too few nodes are free, and the request would be placed now if all nodes that are out, and in no use, were well

Policy is asked first. Where enough nodes are free but in the wrong places, the refusal stays topology-blocked even if a repair would help,
too: that is what moving other work can mend at once.
"""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from scheduling.domain.placement import place_shape
from scheduling.domain.refusals import CAPACITY, HEALTH, POLICY, TOPOLOGY
from scheduling.domain.shape import Shape, shape_of


def with_cause(space: Space, whole: Space, request: JobRequest, policy: Policy, refusal: Refusal) -> Refusal:
    """The refusal of the request on that space with its cause as code. `whole` is the inventory, all healthy and empty."""
    shape = shape_of(space.topology, request, policy)
    if refusal.code not in (CAPACITY, TOPOLOGY) or isinstance(shape, Refusal):
        return refusal
    if shape.floor and _fits(space, replace(shape, floor=0), policy):
        return Refusal(code=POLICY, counts=dict(sorted({**refusal.counts, "min_spares": shape.floor}.items())))
    if refusal.code == CAPACITY and (well := _all_well(space, whole)) is not None and _fits(well, shape, policy):
        return Refusal(code=HEALTH, counts=refusal.counts)
    return refusal


def _fits(space: Space, shape: Shape, policy: Policy) -> bool:
    return not isinstance(place_shape(space, shape, policy), Refusal)


def _all_well(space: Space, whole: Space) -> Space | None:
    """The space with every node of the inventory placeable that has no data error; None where that changes nothing."""
    out = [domain for domain, nodes in enumerate(whole.placeable) if nodes & ~(space.placeable[domain] | space.used[domain])]
    if not out:
        return None
    well = space.fork()
    for domain in out:
        well.placeable[domain] = whole.placeable[domain]
        well.give_mask(domain, 0)
    return well
