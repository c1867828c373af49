"""The shape of a model, as far as its communication depends on it, and some that are published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.errors import InvalidRequest

#: An expert of today's models has three matrices: gate, up and down (SwiGLU, Shazeer, arXiv:2002.05202).
EXPERT_MATRICES = 3

_MOST = 1_000_000
_MOST_PARAMETERS = 1e15


class Sharding(StrEnum):
    """What data-parallel ranks share among themselves."""

    OPTIMIZER = "optimizer"  # ZeRO-1: gradients are reduced and parameters gathered once a step
    FULL = "full"  # FSDP, ZeRO-3: parameters are gathered forward and backward, for each micro-batch


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A transformer, and how it is fed."""

    name: str
    layers: int
    hidden: int
    parameters: float  # all of them
    sequence: int  # tokens
    experts: int = 0  # routed experts of a MoE layer; 0 = a dense model
    top_k: int = 0  # experts that a token goes to
    moe_layers: int = 0
    expert_hidden: int = 0  # inner width of one expert
    micro_batch: int = 1  # sequences of one replica at a time
    micro_batches: int = 8  # of one replica in a step
    activation_bytes: int = 2  # of one number of an activation: BF16
    gradient_bytes: int = 2  # of one number of a gradient or a parameter on the wire: BF16
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse what no model is; raises InvalidRequest."""
        for field, low in _LEAST.items():
            value = getattr(self, field)
            if not low <= value <= _MOST:
                raise InvalidRequest(field, value, f"give a whole number from {low} to {_MOST}")
        if not 0 < self.parameters <= _MOST_PARAMETERS:
            raise InvalidRequest("parameters", self.parameters, f"give the number of parameters, above 0 and up to {_MOST_PARAMETERS:g}")
        if self.moe_layers > self.layers:
            raise InvalidRequest("moe_layers", self.moe_layers, f"give at most layers ({self.layers})")
        if self.top_k > self.experts:
            raise InvalidRequest("top_k", self.top_k, f"give at most experts ({self.experts})")
        if self.expert_parameters > self.parameters:
            raise InvalidRequest("parameters", self.parameters, f"give at least those of the experts ({self.expert_parameters:.3g})")

    @property
    def expert_parameters(self) -> float:
        """Parameters of all routed experts."""
        return float(EXPERT_MATRICES * self.hidden * self.expert_hidden * self.experts * self.moe_layers)

    @property
    def dense_parameters(self) -> float:
        """All others: attention, norms, embeddings, shared experts."""
        return self.parameters - self.expert_parameters

    @property
    def activation(self) -> float:
        """Bytes of one micro-batch between two layers."""
        return float(self.micro_batch * self.sequence * self.hidden * self.activation_bytes)


_LEAST = {
    **dict.fromkeys(("layers", "hidden", "sequence", "micro_batch", "micro_batches", "activation_bytes", "gradient_bytes"), 1),
    **dict.fromkeys(("experts", "top_k", "moe_layers", "expert_hidden"), 0),
}

_PUBLISHED = (
    ModelShape(
        name="gpt3-175b",
        layers=96,
        hidden=12_288,
        parameters=175e9,
        sequence=2_048,
        source="Brown et al., Language Models are Few-Shot Learners, arXiv:2005.14165, table 2.1",
    ),
    ModelShape(
        name="llama-3.1-70b",
        layers=80,
        hidden=8_192,
        parameters=70.55e9,
        sequence=8_192,
        source="The Llama 3 Herd of Models, arXiv:2407.21783, table 3; sequence of pre-training",
    ),
    ModelShape(
        name="llama-3.1-405b",
        layers=126,
        hidden=16_384,
        parameters=405.9e9,
        sequence=8_192,
        source="The Llama 3 Herd of Models, arXiv:2407.21783, table 3; sequence of pre-training",
    ),
    ModelShape(
        name="mixtral-8x7b",
        layers=32,
        hidden=4_096,
        parameters=46.7e9,
        sequence=8_192,
        experts=8,
        top_k=2,
        moe_layers=32,
        expert_hidden=14_336,
        source="Mixtral of Experts, arXiv:2401.04088, table 1; sequence chosen here",
    ),
    ModelShape(
        name="deepseek-v3",
        layers=61,
        hidden=7_168,
        parameters=671e9,
        sequence=4_096,
        experts=256,
        top_k=8,
        moe_layers=58,
        expert_hidden=2_048,
        source="DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2",
    ),
)

#: Published models by name.
MODELS: Mapping[str, ModelShape] = {model.name: model for model in _PUBLISHED}


def model_named(name: str) -> ModelShape:
    """A published model; raises InvalidRequest."""
    try:
        return MODELS[name]
    except KeyError:
        raise InvalidRequest("model", name, f"give one of: {', '.join(MODELS)}") from None


def fitting_models(experts: int) -> tuple[ModelShape, ...]:
    """The published models that a plan with so many expert-parallel ranks could train: those with as many experts, or the dense ones."""
    if experts > 1:
        return tuple(model for model in _PUBLISHED if model.experts and model.experts % experts == 0)
    return tuple(model for model in _PUBLISHED if not model.experts)
