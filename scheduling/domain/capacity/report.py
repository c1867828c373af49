"""The capacity model's answers as plain dicts, for the command, the API and the pages: one shape for all of them.

Slice sizes are keys ("16", or "18+16" where a domain is filled with several). Nodes have one decimal; a probability that is not exact says
so in `error`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clusters.domain.slices import auto_slice
from scheduling.domain.capacity.advice import MARGIN, Advice, Choice, Mix, advise, caveat, worth_advising
from scheduling.domain.capacity.compare import break_evens
from scheduling.domain.capacity.estimate import Estimate, MeasuredInterruptions, estimate, estimate_interruptions, estimate_usable
from scheduling.domain.capacity.failures import PUBLISHED_NODE_DAYS, interruptions
from scheduling.domain.capacity.history import Observed
from scheduling.domain.capacity.intervals import Measured
from scheduling.domain.capacity.model import Fleet, Outages, Sizes, after_failures, usable, usable_now

#: How one of several sizes is chosen, in words.
_RULE = f"of those within {100 * MARGIN:.0f} % of the best the largest is advised"

#: Confidences at which slices are promised.
PROMISES = (0.95, 0.99, 0.999)

#: What is assumed of a cluster whose log covers no time yet: what the published comparison of slice sizes holds for.
USUAL_UNAVAILABILITY = 0.02

Report = dict[str, Any]  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What somebody says instead of what the log says; None: nothing."""

    unavailability: float | None = None
    rho: float | None = None
    whole_rack_share: float | None = None
    node_days: float | None = None

    def outages(self, known: Outages) -> Outages:
        """The outages as far as they are given, else as known."""
        return Outages(
            unavailability=_first(self.unavailability, known.unavailability),
            rho=_first(self.rho, known.rho),
            whole_rack_share=_first(self.whole_rack_share, known.whole_rack_share),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A cluster now and so far."""

    domains: tuple[tuple[int, int], ...]  # (nodes, available nodes) of each domain
    observed: Observed
    slice_size: int | None = None  # by its policy


def label(sizes: Sizes) -> str:
    """The key of a slice size, or of several."""
    return "+".join(str(size) for size in sizes)


def fleet_report(fleet: Fleet, slices: Sequence[Sizes], given: Given, mix: Mix) -> Report:
    """The model of a fleet that need not exist, and advice for a mix of jobs; raises InvalidRequest."""
    outages = given.outages(Outages(unavailability=USUAL_UNAVAILABILITY))
    report = capacity_report(fleet, outages, slices, node_days=_first(given.node_days, PUBLISHED_NODE_DAYS))
    return _with_advice(report, fleet, outages, mix, slices)


def cluster_report(fleet: Fleet, live: Live, slices: Sequence[Sizes], given: Given, mix: Mix) -> Report:
    """The model of a cluster at what its log says, unless something else is given; raises InvalidRequest."""
    found = estimate(live.observed)
    outages = given.outages(found.outages or Outages(unavailability=USUAL_UNAVAILABILITY))
    failures = estimate_interruptions(live.observed, fleet)
    ends = () if given.unavailability is not None else found.ends
    node_days = _first(given.node_days, failures.node_days.value or PUBLISHED_NODE_DAYS)
    report = capacity_report(fleet, outages, slices, node_days=node_days) | {"measured": measured_report(fleet, live, slices)}
    return _with_advice(report, fleet, outages, mix, slices, (live.slice_size, ends))


def capacity_report(fleet: Fleet, outages: Outages, slices: Sequence[Sizes], *, node_days: float) -> Report:
    """What slices of each kind can use of the fleet."""
    usual = fleet.usual_size
    found = interruptions(node_days=node_days, nodes_per_rack=usual, nodes=fleet.nodes)
    details = {label(sizes): _slice_report(fleet, sizes, outages) for sizes in slices}
    return {
        "nodes": fleet.nodes,
        "domains": [{"nodes": size, "count": count} for size, count in fleet.domains],
        "unavailability": outages.unavailability,
        "rho": outages.rho,
        "whole_rack_share": outages.whole_rack_share,
        "usable": {key: detail["nodes"] for key, detail in details.items()},
        "slices": details,
        "break_evens": _break_evens(fleet, outages, slices, (auto_slice(usual),)),
        "interruptions": {
            "node_days": round(found.node_days, 1),
            "rack_days": round(found.rack_days, 1),
            "fleet_hours": round(found.fleet_hours, 1),
            "fleet_per_day": round(found.fleet_per_day, 1),
        },
        "caveats": [caveat(fleet, outages)],
    }


def measured_report(fleet: Fleet, live: Live, slices: Sequence[Sizes]) -> Report:
    """What the cluster's own log says, beside the model."""
    found = estimate(live.observed)
    failures = estimate_interruptions(live.observed, fleet)
    return {
        "span_days": round(found.span_days, 2),
        "node_days": round(found.node_days, 1),
        "domains": found.domains,
        "unavailability": _measured(found.unavailability, 5),
        "rho": _measured(found.rho, 4),
        "rho_without_whole_racks": round(found.rest_rho, 4),
        "whole_rack_share": round(found.whole_rack_share, 4),
        "whole_rack_outages": found.whole_outages,
        "unseen_rack_days": _rounded(found.unseen_rack_days, 1),
        "interruptions": _interruptions(failures),
        "usable": {label(sizes): _measured(estimate_usable(live.observed, sizes).scaled(fleet.nodes), 1) for sizes in slices},
        "usable_now": {label(sizes): usable_now(live.domains, sizes) for sizes in slices},
        "available_now": sum(have for _, have in live.domains),
        "cautions": [*found.cautions, *failures.cautions, *_unseen(found)],
    }


def advice_report(advice: Advice, basis: str, shown: Collection[int], policy: int | None = None) -> Report:
    """Which size to take, by what, and why not another: of those shown, the one advised and the one that the policy has."""
    shown = {*shown, *(size for size in (advice.size, policy) if size is not None)}
    advised = next((choice for choice in advice.choices if choice.size == advice.size), None)
    return {
        "size": advice.size,
        "policy": policy,
        "basis": basis,
        "elsewhere": list(advice.elsewhere),
        "choices": [
            {
                "size": choice.size,
                "usable": round(choice.usable, 1),
                "widths": {str(width): round(share, 4) for width, share in choice.widths},
                "reason": choice.reason or _why_not(choice, advised),
            }
            for choice in advice.choices
            if choice.size in shown
        ],
    }


def _why_not(choice: Choice, advised: Choice | None) -> str:
    """Why a size that is of use is not the one advised; "" for that one."""
    if advised is None or choice.size == advised.size:
        return ""
    more = round(100 * (choice.usable / advised.usable - 1), 1)
    if more < 0:
        return f"{-more} % fewer nodes than with {advised.size}"
    beside = f"{more} % more nodes than with {advised.size}" if more else f"as many nodes as with {advised.size}"
    return f"{beside}: {_RULE}"


def _among(choice: Choice, among: range) -> Choice:
    """A choice that says so where it is of use and none of the sizes that are advised."""
    if choice.reason or choice.size in among:
        return choice
    return replace(choice, reason=f"only sizes of {among[0]} to {among[-1]} nodes are advised")


def _with_advice(
    report: Report,
    fleet: Fleet,
    outages: Outages,
    mix: Mix,
    slices: Sequence[Sizes],
    now: tuple[int | None, Iterable[Outages]] = (None, ()),
) -> Report:
    """The report with the advice for a mix; None where nothing is known of the jobs: then there is nothing to advise.

    `now`: the size by the policy, and outages that are as likely. Of the sizes that break even it is said whether the mix makes both.
    """
    if not any(mix.values()):
        return report | {"advice": None}
    asked, (policy, ends) = {sizes[0] for sizes in slices if len(sizes) == 1}, now
    among = worth_advising(fleet)
    advice = advise(fleet, outages, mix, among, ends)
    beside = advise(fleet, outages, mix, sorted({*asked, *([policy] if policy else []), *among}))
    at = f"{100 * outages.unavailability:.2f} % unavailability"
    basis = f"of slices of {among[0]} to {among[-1]} nodes, by the nodes that these jobs can use at {at}: {_RULE}"
    made = {label((choice.size,)) for choice in beside.choices if not choice.reason}
    points = [point | {"of_use": made.issuperset(point["slices"])} for point in report["break_evens"]]
    told = advice_report(replace(advice, choices=tuple(_among(choice, among) for choice in beside.choices)), basis, asked, policy)
    return report | {"break_evens": points, "advice": told}


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def _slice_report(fleet: Fleet, sizes: Sizes, outages: Outages) -> Report:
    found = usable(fleet, sizes, outages)
    return {
        "nodes": round(found.mean, 1),
        "share": round(found.mean / fleet.nodes, 4),
        "sd": round(found.total.sd, 1),
        "p01": found.nodes_with(0.99),
        "p05": found.nodes_with(0.95),
        "promised_slices": {str(confidence): found.slices_with(confidence) for confidence in PROMISES},
        "error": round(found.total.error, 4),
        "after_failures": list(after_failures(fleet.usual_size, sizes)),
    }


def _break_evens(fleet: Fleet, outages: Outages, slices: Iterable[Sizes], against: Sizes) -> list[Report]:
    return [
        {
            "slices": [label(sizes), label(against)],
            "unavailability": round(found.at, 4),
            "better_below": label(found.better_below),
            "better_above": label(found.better_above),
        }
        for sizes in slices
        if sizes != against
        for found in break_evens(fleet, sizes, against, outages)
    ]


def _interruptions(found: MeasuredInterruptions) -> Report:
    return {
        "count": found.count,
        "node_days": _measured(found.node_days, 1),
        "rack_days": _measured(found.rack_days, 1),
        "fleet_hours": _measured(found.fleet_hours, 1),
        "dispersion": _rounded(found.dispersion, 2),
    }


def _unseen(found: Estimate) -> tuple[str, ...]:
    if found.unseen_rack_days is None:
        return ()
    return (
        f"no whole rack was ever away: such outages may be rarer than one in {found.unseen_rack_days:,.0f} rack-days and not have shown, "
        "and rho does not count them",
    )


def _measured(found: Measured, digits: int) -> Report:
    return {
        "value": _rounded(found.value, digits),
        "low": _rounded(found.low, digits),
        "high": _rounded(found.high, digits),
        "reason": found.reason,
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
