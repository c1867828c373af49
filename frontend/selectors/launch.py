"""The ranks of a placed job: what they cost where they are, and the files that launchers read."""

from __future__ import annotations

import msgspec
from django.urls import reverse

from clusters.domain.decision import Refusal
from frontend.selectors.parallel import MOST_RANKS, PlacedCosts, PlanFacts, cluster_setting
from scheduling.domain.parallelism.report import placed_report
from scheduling.launch.assignment import Launch
from scheduling.launch.formats import Format, filename, incomplete
from scheduling.launch.service import job_launch
from scheduling.parallel import cluster_fleet

#: What each format is for, in a few words.
TOLD = {
    Format.HOSTFILE: "Open MPI, DeepSpeed",
    Format.RANKS: "every rank, as JSON",
    Format.TORCHRUN: "PyTorch environment",
    Format.SLURM: "batch script, ranks in order",
    Format.SLURM_HOSTFILE: "SLURM_HOSTFILE, a line a rank",
    Format.NODELIST: "Slurm's short node list",
    Format.RANKFILE: "Open MPI, ranks and cores",
}


class LaunchFile(msgspec.Struct, frozen=True):
    """One file that can be fetched."""

    format: str
    filename: str
    url: str
    what: str


class LaunchFacts(msgspec.Struct, frozen=True):
    """One assignment of a job."""

    job: str
    generation: int
    nodes: int
    ranks: int
    lost: int  # slots without a node; while there are any, only the format `ranks` can be had
    problem: str  # why the plan does not hold here; "" where it does, or where there is none
    files: list[LaunchFile]
    costs: PlacedCosts | None  # null without a plan, and for very large jobs


class RankPlace(msgspec.Struct, frozen=True):
    """Where one rank runs, and where it stands in the plan; its coordinates are null without a plan."""

    rank: int
    node: str | None  # null: the slot has lost its node
    gpu: int  # index on the node
    slice: int
    slot: int
    domain: str
    tp: int | None
    ep: int | None
    pp: int | None
    dp: int | None


class RankTable(msgspec.Struct, frozen=True):
    """All ranks of an assignment, as the format `ranks` has them."""

    cluster: str
    job: str
    generation: int
    order: str  # in which ranks run through the plan
    plan: PlanFacts | None
    problem: str
    ranks: list[RankPlace]


def launch_facts(launch: Launch, fabric_gbps: float | None = None) -> LaunchFacts:
    """What there is to know of an assignment; raises InvalidRequest."""
    return LaunchFacts(
        job=launch.job,
        generation=launch.generation,
        nodes=sum(len(part.slots) for part in launch.slices),
        ranks=len(launch.ranks.ranks),
        lost=launch.lost,
        problem=launch.ranks.problem,
        files=[_file(launch, form) for form in Format if incomplete(launch, form) is None],
        costs=_costs(launch, fabric_gbps),
    )


def launch_get(cluster: str, job: str, generation: int | None = None) -> Launch | Refusal:
    """The assignment that a job has, or had; raises UnknownCluster, UnknownSubject."""
    return job_launch(cluster=cluster, job=job, generation=generation)


def _file(launch: Launch, form: Format) -> LaunchFile:
    url = reverse("api:job-launch", args=(launch.cluster, launch.job))
    return LaunchFile(form.value, filename(launch, form), f"{url}?format={form}&generation={launch.generation}", TOLD[form])


def _costs(launch: Launch, fabric_gbps: float | None) -> PlacedCosts | None:
    if launch.ranks.plan is None or len(launch.ranks.ranks) > MOST_RANKS:
        return None
    report = placed_report(launch.ranks, cluster_fleet(launch.cluster), cluster_setting(launch.cluster, fabric_gbps))
    return None if report is None else msgspec.convert(report, PlacedCosts)
