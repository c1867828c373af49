"""Why a search found no plan, in counts: what stays where it is, what the budgets leave, and what would have no other place.

This explains; it proves nothing. A search that has run out of time ends like one that has tried everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.domain.defrag.model import Problem, Way
from scheduling.domain.wording import many

#: Reasons to stay that are told; the most frequent come first.
MOST_REASONS = 4

#: How `Victims.why_not` begins, and how the same is said of one counted job, and of several.
_COUNTED = (
    ("its last checkpoint is older than it declares", "has an overdue checkpoint", "have overdue checkpoints"),
    ("it is ", "is ", "are "),
    ("it was ", "was ", "were "),
    ("it has ", "has ", "have "),
    ("it ", "", ""),
    ("team ", "is left alone: team ", "are left alone: team "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vain:
    """Why there is no plan."""

    code: str  # budget, stays, moves, places, outdated
    message: str
    counts: Mapping[str, int]
    stays: Mapping[str, int]  # why jobs stay where they are -> how many jobs


def why_none(problem: Problem) -> Vain:
    """Why no plan was found: the first condition that fails by counting alone, else that moved work has no place."""
    wanted = sum(problem.counts)
    ways = [problem.ways(index) for index in range(len(problem.domains))]
    could = _could(problem, ways)
    stays = _stays(problem)
    what = "whole domain" if problem.whole and not problem.sizes else "slice"
    counts = {"wanted": wanted, "could": could, "stay": sum(stays.values())}
    if could < wanted:
        message = f"{_of(could, wanted, what)} could be had if all that may move left{_stay_words(stays)}"
        return Vain(code="stays", message=message, counts=counts, stays=stays)
    least, free = _least(problem, ways, wanted), sum(domain.slack for domain in problem.domains)
    counts |= {"least_moves": least, "free": free}
    if problem.most_moves is not None:
        counts["most_moves"] = problem.most_moves
        if least > problem.most_moves:
            message = (
                f"{many(least, 'workload')} would have to give way where fewest have to; "
                f"{many(problem.most_moves, 'workload')} may be disturbed now"
            )
            return Vain(code="moves", message=message, counts=counts, stays=stays)
    place = f"no other place was found for all that would have to leave: {many(free, 'node')} {'is' if free == 1 else 'are'} free for it"
    return Vain(code="places", message=f"{place}{_stay_words(stays)}", counts=counts, stays=stays)


def out_of_budget(disturbed: int, allowed: int) -> Vain:
    """Nothing may be disturbed now."""
    message = f"{many(disturbed, 'job')} {'was' if disturbed == 1 else 'were'} disturbed in the last hour, and {allowed} may be"
    return Vain(code="budget", message=message, counts={"disturbed": disturbed, "allowed": allowed}, stays={})


def outdated(why: str) -> Vain:
    """A plan was found, but the state has changed since."""
    return Vain(code="outdated", message=f"the plan that was found does not hold any more: {why}", counts={}, stays={})


def _could(problem: Problem, ways: list[tuple[Way, ...]]) -> int:
    """Slices, or whole domains, that could be had if all that may move left; the most of any area."""
    each = [max((sum(way.counts) for way in found), default=0) for found in ways]
    areas = problem.areas or ((1 << len(each)) - 1,)
    return max(sum(count for index, count in enumerate(each) if area >> index & 1) for area in areas)


def _least(problem: Problem, ways: list[tuple[Way, ...]], wanted: int) -> int:
    """Jobs that would leave the domains in which fewest have to, each serving in the way that asks least of it."""
    offers: list[tuple[float, int, frozenset[str], int]] = []
    for index, found in enumerate(ways):
        for way in found:
            jobs = _leaving(problem, index, way.need)
            if jobs is not None:
                serves = sum(way.counts)
                offers.append((len(jobs) / serves, index, jobs, serves))
    leaving: frozenset[str] = frozenset()
    used: set[int] = set()
    served = 0
    for _, index, jobs, serves in sorted(offers, key=lambda offer: offer[:2]):
        if served >= wanted:
            break
        if index not in used:
            used.add(index)
            leaving |= jobs
            served += serves
    return len(leaving)


def _leaving(problem: Problem, index: int, need: int) -> frozenset[str] | None:
    """The fewest jobs whose leaving frees so many nodes of the domain; None where all together do not."""
    missing = need - problem.domains[index].free
    jobs: set[str] = set()
    units = [unit for unit in problem.units if unit.domain == index]
    for unit in sorted(units, key=lambda unit: (-unit.frees, unit.pieces)):
        if missing <= 0:
            break
        missing -= unit.frees
        jobs |= {job for job, _ in unit.pieces}
    return frozenset(jobs) if missing <= 0 else None


def _stays(problem: Problem) -> dict[str, int]:
    """Why jobs stay in the domains that might serve, and how many of each; the most frequent first."""
    why = {job: reason for index, domain in enumerate(problem.domains) if problem.targets >> index & 1 for job, _, reason in domain.pinned}
    counted = Counter(why.values())
    return {reason: counted[reason] for reason in sorted(counted, key=lambda reason: (-counted[reason], reason))}


def _stay_words(stays: Mapping[str, int]) -> str:
    if not stays:
        return ""
    told = [f"{count} {_counted(count, reason)}" for reason, count in list(stays.items())[:MOST_REASONS]]
    rest = sum(stays.values()) - sum(list(stays.values())[:MOST_REASONS])
    listed = ", ".join((*told, *([f"{rest} for other reasons"] if rest else [])))
    total = sum(stays.values())
    return f"; {many(total, 'job')} {'stays' if total == 1 else 'stay'}: {listed}"


def _counted(count: int, reason: str) -> str:
    for start, one, several in _COUNTED:
        if reason.startswith(start):
            return (one if count == 1 else several) + reason.removeprefix(start)
    return reason


def _of(could: int, wanted: int, what: str) -> str:
    return f"only {could} of {many(wanted, what)}"
