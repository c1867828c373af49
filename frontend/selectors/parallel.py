"""What pages and the API say of plans: advice on slices, what communication costs in which place, and what others measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import InvalidRequest
from scheduling.domain.parallelism.fabric import nvlink_links
from scheduling.domain.parallelism.models import ModelShape, Sharding
from scheduling.domain.parallelism.report import Setting, parallel_report
from scheduling.parallel import cluster_fleet, cluster_network

#: Ranks of a plan that an answer is made for; more take the command: an answer must not keep others waiting.
MOST_RANKS = 8_192


class PlanFacts(msgspec.Struct, frozen=True):
    """A plan: tensor x expert x pipeline x data parallel."""

    tp: int
    ep: int
    pp: int
    dp: int
    gpus: int  # ranks: one for each GPU
    group: int  # ranks of a TP x EP group, which may not leave its domain


class PlanChoice(msgspec.Struct, frozen=True):
    """One slice size for a plan."""

    max_slice: int
    slices: list[int]
    power_of_two: bool  # each slice has a power of two of GPUs
    spares: int  # nodes of the domain beside the largest slice


class PlanAdvice(msgspec.Struct, frozen=True):
    """The slice size that suits a plan."""

    nodes: int
    unit: int  # slices are whole multiples of so many nodes
    max_slice: int | None  # null: no slice holds the plan
    slices: list[int]
    why: list[str]
    choices: list[PlanChoice]  # best first


class LinkSpeeds(msgspec.Struct, frozen=True):
    """Gigabytes a second, one direction of one GPU."""

    inside_gbs: float
    outside_gbs: float
    ratio: float
    fabric_from: str  # who says what goes outside: given, inventory, default


class TermSeconds(msgspec.Struct, frozen=True):
    """One term of a step, on the links inside domains and on those between them."""

    inside_s: float
    outside_s: float


class StepTerms(msgspec.Struct, frozen=True):
    """Communication of one step by term."""

    tp: TermSeconds
    ep: TermSeconds
    pp: TermSeconds
    dp: TermSeconds


class PlacementCost(msgspec.Struct, frozen=True):
    """What a step costs in one placement."""

    name: str  # here, sliced, packed, scattered
    label: str
    groups_whole: bool  # no TP or EP group leaves its domain
    seconds: float
    ratio: float | None  # to the first placement; null where that needs no communication
    terms: StepTerms


class ModelCost(msgspec.Struct, frozen=True):
    """What training one model costs."""

    model: str
    source: str
    placements: list[PlacementCost]


class Figure(msgspec.Struct, frozen=True):
    """A figure and where it comes from."""

    figure: str
    what: str
    source: str


class PlacedCosts(msgspec.Struct, frozen=True):
    """Estimates for a job where it is placed; published figures stand apart."""

    plan: PlanFacts
    costs: list[ModelCost]
    links: LinkSpeeds
    sharding: str
    overlap: float
    published: list[Figure]  # measured by others; nothing here derives them
    fits: list[Figure]  # computed with a number that was chosen to meet a published one


class ParallelReport(msgspec.Struct, frozen=True):
    """Advice and estimates for a plan; published figures stand apart."""

    plan: PlanFacts
    advice: PlanAdvice
    costs: list[ModelCost]
    links: LinkSpeeds
    sharding: str
    overlap: float
    published: list[Figure]  # measured by others; nothing here derives them
    fits: list[Figure]  # computed with a number that was chosen to meet a published one


def parallel_get(
    cluster: str, plan: ParallelPlan, models: Sequence[ModelShape], *, fabric_gbps: float | None, sharding: Sharding, overlap: float
) -> ParallelReport:
    """The report on a plan in a cluster. Raises UnknownCluster, and InvalidRequest for a plan that is too large or fills no whole nodes."""
    fleet = cluster_fleet(cluster)
    if plan.gpus > MOST_RANKS:
        raise InvalidRequest("plan", plan.gpus, f"give at most {MOST_RANKS} ranks, or ask the command `parallel`")
    setting = replace(cluster_setting(cluster, fabric_gbps), sharding=sharding, overlap=overlap)
    return msgspec.convert(parallel_report(plan, fleet, models, setting), ParallelReport)


def cluster_setting(cluster: str, fabric_gbps: float | None) -> Setting:
    """The links of a cluster, as given or as its inventory says; raises UnknownCluster, InvalidRequest."""
    gbps, told = cluster_network(cluster, fabric_gbps)
    return Setting(links=nvlink_links(gbps), fabric_from=told)
