"""Seconds that a step of training spends on communication, by where its ranks lie: bytes over bandwidth, no latency, no congestion.

Collectives over several domains are taken to be hierarchical: inside each domain, then across, then inside. Each rank has its own port to
the network. What the terms count, for one rank and one step of m micro-batches:

- Tensor parallelism: two all-reduces of a micro-batch's activations a layer forward, two backward (Shoeybi et al., Megatron-LM,
  arXiv:1909.08053, section 3). They are on the critical path. An all-reduce of n ranks moves 2 (n - 1) / n of its bytes through each
  (ring: Patarasu and Yuan, J. Parallel Distrib. Comput. 69, 2009; the bus bandwidth factor of nccl-tests).
- Expert parallelism: two all-to-alls a MoE layer forward (dispatch, combine), two backward (Lepikhin et al., GShard, arXiv:2006.16668);
  each token goes to top-k experts, spread evenly; tensor ranks each send their share of the tokens (sequence parallelism: Korthikanti et
  al., arXiv:2205.05198). Of n ranks, a rank keeps 1 / n of the bytes.
- Pipeline parallelism: a stage sends activations on and gradients back once a micro-batch, split over its tensor ranks (Narayanan et al.,
  arXiv:2104.04473, section 4.1).
- Data parallelism: reduce-scatter of gradients and all-gather of parameters once a step; sharded in full, one reduce-scatter and two
  all-gathers a micro-batch (Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7). Expert ranks are data-parallel for all but experts.
  `overlap` is the share of it that hides behind compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import InvalidRequest
from scheduling.domain.parallelism.fabric import Links
from scheduling.domain.parallelism.models import ModelShape, Sharding
from scheduling.domain.parallelism.spread import Shares, Spread

TP_COLLECTIVES = 4  # all-reduces a layer: two forward, two backward
EP_COLLECTIVES = 4  # all-to-alls a MoE layer: dispatch and combine, forward and backward
PP_MESSAGES = 2  # a micro-batch: activations on, gradients back
FULL_GATHERS = 2  # of parameters sharded in full: forward and backward


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Time on the links inside domains, and on those between them; one after the other."""

    inside: float = 0.0
    outside: float = 0.0

    @property
    def total(self) -> float:
        """Both together."""
        return self.inside + self.outside

    def times(self, factor: float) -> Seconds:
        """So many of them."""
        return Seconds(inside=self.inside * factor, outside=self.outside * factor)

    def plus(self, other: Seconds) -> Seconds:
        """Both, one after the other."""
        return Seconds(inside=self.inside + other.inside, outside=self.outside + other.outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Communication of one step, by term."""

    tp: Seconds
    ep: Seconds
    pp: Seconds
    dp: Seconds

    @property
    def total(self) -> float:
        """Seconds of all terms."""
        return self.tp.total + self.ep.total + self.pp.total + self.dp.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What is trained, over which links."""

    model: ModelShape
    links: Links
    sharding: Sharding = Sharding.OPTIMIZER
    overlap: float = 0.0  # share of the data-parallel term that hides behind compute; 0: the most it can cost

    def __post_init__(self) -> None:
        """Refuse shares that are none; raises InvalidRequest."""
        if not 0 <= self.overlap <= 1:
            raise InvalidRequest("overlap", self.overlap, "give a share from 0 to 1")


def step_cost(training: Training, plan: ParallelPlan, spread: Spread) -> StepCost:
    """The cost of a step with the plan's groups spread like this; of each kind the slowest group counts, as all wait for it."""
    model, links = training.model, training.links
    batches = model.micro_batches
    layers, moe_layers = -(-model.layers // plan.pp), -(-model.moe_layers // plan.pp)
    tokens = model.activation / plan.tp
    stages = tokens / (links.outside if spread.stages_apart else links.inside) * (plan.pp > 1)
    return StepCost(
        tp=_slowest(spread.tp, lambda shares: all_reduce(model.activation, shares, links)).times(TP_COLLECTIVES * layers * batches),
        ep=_slowest(spread.ep, lambda shares: all_to_all(tokens * model.top_k, shares, links)).times(EP_COLLECTIVES * moe_layers * batches),
        pp=(Seconds(outside=stages) if spread.stages_apart else Seconds(inside=stages)).times(PP_MESSAGES * batches),
        dp=_data_parallel(training, plan, spread).times(1 - training.overlap),
    )


def all_reduce(size: float, shares: Shares, links: Links) -> Seconds:
    """All ranks get the sum of `size` bytes: a scatter and a gather."""
    return scatter(size, shares, links).times(2)


def scatter(size: float, shares: Shares, links: Links) -> Seconds:
    """Reduce-scatter, or the all-gather back, of `size` bytes."""
    widest, narrowest, domains = max(shares), min(shares), len(shares)
    inside = (widest - 1) / widest * size / links.inside
    return Seconds(inside=inside, outside=(domains - 1) / domains * size / narrowest / links.outside)


def all_to_all(size: float, shares: Shares, links: Links) -> Seconds:
    """Each rank sends `size` bytes in equal parts to all ranks; the one with the fewest neighbours is the slowest."""
    ranks, near = sum(shares), min(shares)
    return Seconds(inside=(near - 1) / ranks * size / links.inside, outside=(ranks - near) / ranks * size / links.outside)


def _data_parallel(training: Training, plan: ParallelPlan, spread: Spread) -> Seconds:
    model, links = training.model, training.links
    shard = model.gradient_bytes / (plan.tp * plan.pp)
    once = _slowest(spread.dense, lambda shares: scatter(model.dense_parameters * shard, shares, links)).plus(
        _slowest(spread.dp, lambda shares: scatter(model.expert_parameters * shard / plan.ep, shares, links))
    )
    if training.sharding is Sharding.FULL:
        return once.times((1 + FULL_GATHERS) * model.micro_batches)
    return once.times(2)


def _slowest(ways: Iterable[Shares], cost: Callable[[Shares], Seconds]) -> Seconds:
    return max(map(cost, ways), key=lambda seconds: (seconds.total, seconds.outside))
