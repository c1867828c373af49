"""Why the other domains lose: a plan for them that costs more, a bound, or work that stays where it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from clusters.domain.defrag import Rival
from scheduling.domain.defrag.cascade import Found
from scheduling.domain.defrag.model import Domain, Problem, Solution
from scheduling.domain.wording import gpu_hours

#: Rivals that are told one by one.
MOST_RIVALS = 16


def rivals_of(problem: Problem, found: Found, best: Solution, runner_up: Solution | None, bound: int | None) -> tuple[Rival, ...]:
    """All that is known of the other domains, the runner-up first.

    `runner_up` is the best plan that the solver knows for other domains, and `bound` what any plan for other domains costs at least, where
    that is known.
    """
    used = tuple(domain for domain, _ in best.targets)
    listed = [*_first(problem, used, runner_up, found, bound)]
    named = {name for rival in listed for name in rival.domains} | {problem.domains[domain].name for domain in used}
    for rival in (*_tried(problem, found, used), *_bounded(problem, found)):
        if len(listed) < MOST_RIVALS and not named.issuperset(rival.domains):
            listed.append(rival)
            named.update(rival.domains)
    return (*listed, *_rest(problem, found, named))


def _first(problem: Problem, used: tuple[int, ...], runner_up: Solution | None, found: Found, bound: int | None) -> Iterator[Rival]:
    known = next(((cost, domains) for cost, domains in found.tried if domains != used), None)
    if runner_up is not None and (known is None or runner_up.cost < known[0]):
        known = (runner_up.cost, tuple(domain for domain, _ in runner_up.targets))
    if known is None:
        return
    cost, domains = known
    best = "the best plan for other domains" if bound is not None and cost <= bound else "the best plan known for other domains"
    least = f"; any costs at least {gpu_hours(bound)}" if bound is not None and 0 < bound < cost else ""
    yield Rival(domains=_names(problem, domains), cost=cost, reason=best + least)


def _tried(problem: Problem, found: Found, used: tuple[int, ...]) -> Iterator[Rival]:
    for cost, domains in found.tried:
        if domains != used:
            yield Rival(domains=_names(problem, domains), cost=cost, reason="the best plan known for it")


def _bounded(problem: Problem, found: Found) -> Iterator[Rival]:
    for offer in found.offers:
        reason = f"what has to leave it costs at least {gpu_hours(offer.bound)}"
        yield Rival(domains=(problem.domains[offer.domain].name,), cost=offer.bound, reason=reason)


def _rest(problem: Problem, found: Found, named: set[str]) -> Iterator[Rival]:
    """All others, by why they lose."""
    bounds: dict[int, int] = {}
    for offer in found.offers:
        bounds.setdefault(offer.domain, offer.bound)
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, here in enumerate(problem.domains):
        if here.name and here.name not in named:
            groups["what has to leave them costs more" if index in bounds else _why_never(problem, index, here)].append(index)
    for reason, domains in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        known = [bounds[domain] for domain in domains if domain in bounds]
        yield Rival(domains=_names(problem, domains), cost=min(known) if known else None, reason=reason)


def _why_never(problem: Problem, index: int, here: Domain) -> str:
    if not problem.targets >> index & 1:
        return "the job may not go there"
    if here.pinned:
        job, nodes, why = max(here.pinned, key=lambda pin: (pin[1], pin[0]))
        more = f", and {len(here.pinned) - 1} more" if len(here.pinned) > 1 else ""
        return f"{nodes} {'node is' if nodes == 1 else 'nodes are'} held by {job}: {why}{more}"
    return f"{here.out} of its nodes cannot be used" if here.out else "it has too few nodes"


def _names(problem: Problem, domains: tuple[int, ...] | list[int]) -> tuple[str, ...]:
    return tuple(problem.domains[domain].name for domain in domains)
