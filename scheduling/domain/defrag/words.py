"""A plan in words: what it does, what it costs, and how it is known that nothing is cheaper."""

from __future__ import annotations

from clusters.domain.defrag import Plan, Rival
from scheduling.domain.wording import gpu_hours


def certificate(plan: Plan) -> str:
    """How good the plan is, and what it is held against."""
    sentences = [_proof(plan)]
    if plan.rivals and plan.rivals[0].cost is not None:
        sentences.append(_runner_up(plan.rivals[0]))
    if plan.slice_only is not None and plan.slice_only < plan.cost:
        sentences.append(f"Without its spares the job would fit at {gpu_hours(plan.slice_only)}.")
    return " ".join(sentences)


def _proof(plan: Plan) -> str:
    if not plan.moves:
        return "Nothing has to move."
    if plan.optimal:
        return f"Proven cheapest: no plan costs less than {gpu_hours(plan.cost)}."
    if not plan.bound:
        return f"The best plan found, at {gpu_hours(plan.cost)}; whether there is a cheaper one is not known ({plan.status})."
    share = f"{plan.gap * 100:.0f} %" if plan.gap >= 0.01 else "less than 1 %"
    return (
        f"The best plan found, at {gpu_hours(plan.cost)}. No plan costs less than {gpu_hours(plan.bound)}, "
        f"so a better one could save {share} at most ({plan.status})."
    )


def _runner_up(rival: Rival) -> str:
    domains = " and ".join(rival.domains) if len(rival.domains) < 3 else f"{', '.join(rival.domains[:-1])} and {rival.domains[-1]}"
    return f"The runner-up is {domains} at {gpu_hours(rival.cost or 0)}."
