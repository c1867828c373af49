"""The cost model's answers as plain dicts, for the command, the API and the pages: one shape for all of them. Times are seconds a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from clusters.domain.constraints import ParallelPlan
from scheduling.domain.parallelism.advice import Choice, Fleet, SliceAdvice, advise_slice
from scheduling.domain.parallelism.cost import StepCost, Training, step_cost
from scheduling.domain.parallelism.fabric import GIGA, Links
from scheduling.domain.parallelism.models import ModelShape, Sharding, fitting_models
from scheduling.domain.parallelism.published import FITTED_WORKING_GB, PUBLISHED, kv_cache_gain
from scheduling.domain.parallelism.ranks import RankMap
from scheduling.domain.parallelism.spread import Spread, spread_of

Report = dict[str, Any]  # JSON

TERMS = ("tp", "ep", "pp", "dp")

HERE, SLICED, PACKED, SCATTERED = "here", "sliced", "packed", "scattered"

LABELS = {
    HERE: "as it is placed",
    SLICED: "in slices, each whole in a domain",
    PACKED: "packed, {nodes} nodes to a domain",
    SCATTERED: "each node in another domain",
}


class FabricSource(StrEnum):
    """Who says how fast the way out of a domain is."""

    GIVEN = "given"  # whoever asks
    INVENTORY = "inventory"
    DEFAULT = "default"  # nobody: it is assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is asked about every placement alike."""

    links: Links
    fabric_from: FabricSource = FabricSource.DEFAULT
    sharding: Sharding = Sharding.OPTIMIZER
    overlap: float = 0.0

    def training(self, model: ModelShape) -> Training:
        """Training of this model in the setting; raises InvalidRequest."""
        return Training(model=model, links=self.links, sharding=self.sharding, overlap=self.overlap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The placements that are compared, the one that the others are held against first."""

    spreads: dict[str, Spread]
    domain_nodes: int


def parallel_report(plan: ParallelPlan, fleet: Fleet, models: Sequence[ModelShape], setting: Setting) -> Report:
    """Advice for a plan, and what it costs in slices as advised and in worse places; raises InvalidRequest."""
    advice = advise_slice(plan, fleet)
    spreads: dict[str, Spread] = {}
    if advice.best is not None:
        owners = [number for number, size in enumerate(advice.best.slices) for _ in range(size)]
        spreads[SLICED] = _spread(owners, fleet.gpus_per_node, plan)
    spreads |= _worse(plan, fleet, advice.nodes)
    return {
        "plan": plan_dict(plan),
        "advice": advice_dict(advice),
        "costs": list(_costs(plan, Places(spreads=spreads, domain_nodes=fleet.domain_nodes), models, setting)),
        **assumptions(setting),
    }


def placed_report(ranks: RankMap, fleet: Fleet, setting: Setting) -> Report | None:
    """What a placed job costs where it is and in worse places, for the published models that its plan fits; None without coordinates."""
    plan = ranks.plan
    if plan is None or not ranks.ranks or ranks.ranks[0].at is None:
        return None
    nodes = len({(rank.slice, rank.slot) for rank in ranks.ranks})
    spreads = {HERE: spread_of(ranks.domains, plan)}
    if nodes * fleet.gpus_per_node == plan.gpus:
        spreads |= _worse(plan, fleet, nodes)
    places = Places(spreads=spreads, domain_nodes=fleet.domain_nodes)
    return {"plan": plan_dict(plan), "costs": list(_costs(plan, places, fitting_models(plan.ep), setting)), **assumptions(setting)}


def plan_dict(plan: ParallelPlan) -> Report:
    """The plan and what follows from it."""
    return {**asdict(plan), "gpus": plan.gpus, "group": plan.group}


def advice_dict(advice: SliceAdvice) -> Report:
    """The advice, with the request that follows it."""
    best = advice.best
    return {
        "nodes": advice.nodes,
        "unit": advice.unit,
        "max_slice": best.size if best else None,
        "slices": list(best.slices) if best else [],
        "why": list(advice.why),
        "choices": [_choice(choice) for choice in advice.choices],
    }


def assumptions(setting: Setting) -> Report:
    """What the figures rest on, and the published ones that stand beside them."""
    links = setting.links
    return {
        "links": {
            "inside_gbs": links.inside / GIGA,
            "outside_gbs": links.outside / GIGA,
            "ratio": links.ratio,
            "fabric_from": setting.fabric_from.value,
        },
        "sharding": setting.sharding.value,
        "overlap": setting.overlap,
        "published": [asdict(figure) for figure in PUBLISHED],
        "fits": [
            {
                "figure": f"{kv_cache_gain():.1f}x",
                "what": "KV-cache blocks of Llama-3.1-70B (FP8) on two H100 instead of one: a sum of memory",
                "source": f"fitted with {FITTED_WORKING_GB} GB of working memory a GPU to the published 13.9x; no prediction",
            }
        ],
    }


def _choice(choice: Choice) -> Report:
    return {
        "max_slice": choice.size,
        "slices": list(choice.slices),
        "power_of_two": choice.power_of_two,
        "spares": choice.spares,
    }


def _worse(plan: ParallelPlan, fleet: Fleet, nodes: int) -> dict[str, Spread]:
    packed = [node // fleet.domain_nodes for node in range(nodes)]
    return {
        PACKED: _spread(packed, fleet.gpus_per_node, plan),
        SCATTERED: _spread(range(nodes), fleet.gpus_per_node, plan),
    }


def _spread(owners: Iterable[int], gpus: int, plan: ParallelPlan) -> Spread:
    """The spread of ranks on nodes whose domains these are."""
    return spread_of([domain for domain in owners for _ in range(gpus)], plan)


def _costs(plan: ParallelPlan, places: Places, models: Sequence[ModelShape], setting: Setting) -> Iterable[Report]:
    for model in models:
        training = setting.training(model)
        costs = {name: step_cost(training, plan, spread) for name, spread in places.spreads.items()}
        base = next(iter(costs.values())).total
        yield {
            "model": model.name,
            "source": model.source,
            "placements": [_placement(places, name, cost, base) for name, cost in costs.items()],
        }


def _placement(places: Places, name: str, cost: StepCost, base: float) -> Report:
    """`ratio`: to the first placement; none where that one needs no communication."""
    return {
        "name": name,
        "label": LABELS[name].format(nodes=places.domain_nodes),
        "groups_whole": places.spreads[name].groups_whole,
        "seconds": cost.total,
        "ratio": cost.total / base if base else None,
        "terms": {term: {"inside_s": getattr(cost, term).inside, "outside_s": getattr(cost, term).outside} for term in TERMS},
    }
