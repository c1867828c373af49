"""The capacity model's answers as plain dicts, for the command, the API and the pages: one shape for all of them.

Slice sizes are keys ("16", or "18+16" where a domain is filled with several). Nodes have one decimal; a probability that is not exact says
so in `error`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from clusters.domain.slices import auto_slice
from scheduling.domain.capacity.advice import Advice, caveat
from scheduling.domain.capacity.compare import break_evens
from scheduling.domain.capacity.estimate import Estimate, MeasuredInterruptions, estimate, estimate_interruptions, estimate_usable
from scheduling.domain.capacity.failures import interruptions
from scheduling.domain.capacity.history import Observed
from scheduling.domain.capacity.intervals import Measured
from scheduling.domain.capacity.model import Fleet, Outages, Sizes, after_failures, usable, usable_now

#: Confidences at which slices are promised.
PROMISES = (0.95, 0.99, 0.999)

Report = dict[str, Any]  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A cluster now and so far."""

    domains: tuple[tuple[int, int], ...]  # (nodes, available nodes) of each domain
    observed: Observed


def label(sizes: Sizes) -> str:
    """The key of a slice size, or of several."""
    return "+".join(str(size) for size in sizes)


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


def advice_report(advice: Advice) -> Report:
    """Which size to take, and why not another."""
    return {
        "size": advice.size,
        "elsewhere": list(advice.elsewhere),
        "choices": [
            {
                "size": choice.size,
                "usable": round(choice.usable, 1),
                "widths": {str(width): round(share, 4) for width, share in choice.widths},
                "reason": choice.reason,
            }
            for choice in advice.choices
        ],
    }


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
