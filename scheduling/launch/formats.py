"""An assignment as launchers read it. All formats keep the rank order; what a launcher would do to it otherwise is told in the file.

hostfile        Open MPI (`mpirun --hostfile`) and DeepSpeed (`deepspeed --hostfile`): NODE slots=N
ranks           JSON: for each rank its node, GPU, slice, slot, domain and coordinates in the plan
torchrun        environment of each node for PyTorch, to be sourced there
slurm           batch script: the nodes, and a step whose ranks are in order
slurm-hostfile  the file that SLURM_HOSTFILE names: one line a rank
nodelist        Slurm's short form of the nodes: r1-n[01-16]
rankfile        Open MPI (`mpirun --map-by rankfile:file=FILE`): rank N=NODE slot=CORES
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from enum import StrEnum
from shlex import quote
from typing import Any

from clusters.domain.decision import Refusal
from clusters.inventory.names import fold
from scheduling.domain.parallelism.report import plan_dict
from scheduling.launch.assignment import Launch
from scheduling.launch.hosts import Host, hosts_of, master_port, sorts_in_order

#: Cores of a GB200 or GB300 node for each GPU: two Grace CPUs of 72 cores and four GPUs.
CORES_PER_GPU = 36
ORDER = "tp-ep-pp-dp"


class Format(StrEnum):
    """What can be asked for."""

    HOSTFILE = "hostfile"
    RANKS = "ranks"
    TORCHRUN = "torchrun"
    SLURM = "slurm"
    SLURM_HOSTFILE = "slurm-hostfile"
    NODELIST = "nodelist"
    RANKFILE = "rankfile"


#: Endings of file names, by format.
_ENDINGS: Mapping[Format, str] = {
    Format.HOSTFILE: "hostfile",
    Format.RANKS: "ranks.json",
    Format.TORCHRUN: "torchrun.sh",
    Format.SLURM: "slurm.sh",
    Format.SLURM_HOSTFILE: "slurm-hostfile",
    Format.NODELIST: "nodelist",
    Format.RANKFILE: "rankfile",
}


def filename(launch: Launch, form: Format) -> str:
    """A name that tells jobs and generations apart."""
    return f"{launch.job}.{launch.generation}.{_ENDINGS[form]}"


def content_type(form: Format) -> str:
    """The media type of a format."""
    return "application/json" if form is Format.RANKS else "text/plain; charset=utf-8"


def incomplete(launch: Launch, form: Format) -> Refusal | None:
    """Why the assignment cannot be written in this format now: a slot has no node, and launchers cannot leave one out."""
    if not launch.lost or form is Format.RANKS:
        return None
    slots = f"{launch.lost} slot{'s have' if launch.lost > 1 else ' has'} no node"
    message = f"job {launch.job} is stalled: {slots} until a spare or another domain has room; only the format ranks shows it as it is"
    return Refusal(code="state", message=message)


def written(launch: Launch, form: Format) -> str:
    """The assignment in a format, with a line end at its end. All but `ranks` need a complete assignment."""
    if form is Format.RANKS:
        return json.dumps(ranks_dict(launch), indent=1) + "\n"
    return "\n".join(_WRITERS[form](launch, hosts_of(launch))) + "\n"


def ranks_dict(launch: Launch) -> dict[str, Any]:
    """The rank map."""
    plan = launch.ranks.plan
    return {
        "cluster": launch.cluster,
        "job": launch.job,
        "generation": launch.generation,
        "order": ORDER,
        "plan": plan_dict(plan) if plan else None,
        "problem": launch.ranks.problem,
        "ranks": [
            {
                "rank": rank.rank,
                "node": rank.node,
                "gpu": rank.gpu,
                "slice": rank.slice,
                "slot": rank.slot,
                "domain": rank.domain,
                **(asdict(rank.at) if rank.at else dict.fromkeys(("tp", "ep", "pp", "dp"))),
            }
            for rank in launch.ranks.ranks
        ],
    }


def _title(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    yield f"# Job {launch.job}, generation {launch.generation}: {len(launch.ranks.ranks)} ranks on {len(hosts)} nodes"
    plan = launch.ranks.plan
    if plan is not None:
        yield f"# tp {plan.tp} x ep {plan.ep} x pp {plan.pp} x dp {plan.dp}; ranks run in the order {ORDER}"
    if launch.ranks.problem:
        yield f"# Beware: {launch.ranks.problem}"


def _own_gpus(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    """Where others have GPUs of the node too."""
    if launch.shared:
        yield f"# Other work has the other GPUs of the node: set CUDA_VISIBLE_DEVICES={_devices(hosts[0])}"


def _devices(host: Host) -> str:
    return ",".join(map(str, host.gpus))


def _hostfile(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    yield from _title(launch, hosts)
    yield "# mpirun --hostfile FILE --map-by slot ... or deepspeed --hostfile FILE ...: ranks follow the lines"
    yield from _own_gpus(launch, hosts)
    yield from (f"{host.node} slots={host.ranks}" for host in hosts)


def _rankfile(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    yield from _title(launch, hosts)
    yield f"# mpirun --map-by rankfile:file=FILE ...: slots are logical cores, {CORES_PER_GPU} for each GPU (two Grace CPUs, four GPUs)"
    yield from _own_gpus(launch, hosts)
    for host in hosts:
        for place, gpu in enumerate(host.gpus):
            core = gpu * CORES_PER_GPU
            yield f"rank {host.first + place}={host.node} slot={core}-{core + CORES_PER_GPU - 1}"


def _nodelist(_: Launch, hosts: list[Host]) -> Iterator[str]:
    yield node_list(hosts)


def node_list(hosts: list[Host]) -> str:
    """The nodes as Slurm writes them, in natural order: the list has no rank order."""
    return ",".join(fold(host.node for host in hosts))


def _slurm_hostfile(_: Launch, hosts: list[Host]) -> Iterator[str]:
    yield from (host.node for host in hosts for _ in host.gpus)


def _slurm(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    yield "#!/bin/bash"
    yield from _title(launch, hosts)
    yield "# sbatch FILE COMMAND ...: the step runs COMMAND with its ranks in order"
    ranks = len(launch.ranks.ranks)
    yield f"#SBATCH --job-name={launch.job}"
    yield f"#SBATCH --nodes={len(hosts)}"
    yield f"#SBATCH --nodelist={node_list(hosts)}"
    yield f"#SBATCH --ntasks={ranks}"
    if len({host.ranks for host in hosts}) == 1:
        yield f"#SBATCH --gpus-per-node={hosts[0].ranks}"
    yield from _own_gpus(launch, hosts)
    yield "# Slurm sorts a node list; --distribution=arbitrary lays tasks out as SLURM_HOSTFILE lists them."
    yield 'SLURM_HOSTFILE="$(mktemp)"'
    yield "export SLURM_HOSTFILE"
    yield "cat > \"$SLURM_HOSTFILE\" <<'NODES'"
    yield from _slurm_hostfile(launch, hosts)
    yield "NODES"
    yield f"export MASTER_ADDR={quote(hosts[0].node)} MASTER_PORT={master_port(hosts)}"
    yield f'srun --distribution=arbitrary --ntasks={ranks} "$@"'


def _torchrun(launch: Launch, hosts: list[Host]) -> Iterator[str]:
    yield from _title(launch, hosts)
    yield "# Source this on each node (SLICEKEEPER_NODE says which one it is, where its host name does not), then"
    yield "#   torchrun --nnodes=$NNODES --nproc-per-node=$NPROC_PER_NODE --node-rank=$NODE_RANK \\"
    yield "#     --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT SCRIPT ..."
    yield "# or, with the c10d rendezvous (which can restart workers),"
    yield "#   torchrun --nnodes=$NNODES --nproc-per-node=$NPROC_PER_NODE --rdzv-backend=c10d \\"
    yield f"#     --rdzv-id={launch.job}.{launch.generation} --rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT SCRIPT ..."
    keeps = "which here is the rank order" if sorts_in_order(hosts) else "which here is NOT the rank order: take the first form"
    yield f"# That one numbers nodes by sorted host name, {keeps}."
    yield f"export MASTER_ADDR={quote(hosts[0].node)} MASTER_PORT={master_port(hosts)} NNODES={len(hosts)}"
    yield 'case "${SLICEKEEPER_NODE:-$(hostname)}" in'
    for host in hosts:
        name = quote(host.node)
        visible = f" CUDA_VISIBLE_DEVICES={_devices(host)}" if launch.shared else ""
        yield f"  {name}|{name}.*) export NODE_RANK={host.number} NPROC_PER_NODE={host.ranks}{visible} ;;"
    yield f'  *) echo "this node is not one of job {launch.job}, generation {launch.generation}" >&2; return 1 2>/dev/null || exit 1 ;;'
    yield "esac"


_WRITERS: Mapping[Format, Callable[[Launch, list[Host]], Iterator[str]]] = {
    Format.HOSTFILE: _hostfile,
    Format.TORCHRUN: _torchrun,
    Format.SLURM: _slurm,
    Format.SLURM_HOSTFILE: _slurm_hostfile,
    Format.NODELIST: _nodelist,
    Format.RANKFILE: _rankfile,
}
