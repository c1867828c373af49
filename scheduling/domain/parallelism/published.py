"""Figures that others measured. They are shown as published and never derived: what is computed here stands apart from them.

One published figure is a sum of memory, so it can be checked: `kv_cache_gain`. It has a free parameter, so it is a fit and no derivation.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.domain.parallelism.fabric import GIGA


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One measured figure."""

    figure: str
    what: str  # was measured
    source: str


PUBLISHED = (
    Published(
        figure="-43 %",
        what="training throughput with tensor parallelism over the network instead of NVLink (from 8 to 16 GPUs)",
        source="Hugging Face, The Ultra-Scale Playbook, 2025",
    ),
    Published(
        figure="up to 60 %",
        what="of training time in communication, unoptimised, with 64-way expert parallelism on 8-GPU servers",
        source="published for mixture-of-experts training on 8-GPU servers; one NVL72 holds all 64 GPUs in one domain",
    ),
    Published(
        figure="3.9x",
        what="throughput of Llama-3.1-70B on H100 with tensor parallelism 2 instead of 1",
        source="published for vLLM, with 13.9 times the KV-cache blocks",
    ),
    Published(
        figure="up to 4.4x",
        what="throughput a GPU of DeepSeek-R1 on GB200 NVL72 with 32-way expert parallelism, over 8-GPU B200 servers capped at 8-way",
        source="SemiAnalysis InferenceX, GB200 NVL72 vs B200 on DeepSeek R1, 2026: 4.39x at 125 tokens/s a user",
    ),
    Published(
        figure="+14.4 %",
        what="throughput of GR00T N1.7 pre-training on 128 nodes (512 GB300): 8 racks of exactly 16 nodes over nodes taken at random",
        source="1.59 to 1.39 s a step, measured",
    ),
)

#: H100 SXM: 81,559 MiB as the driver reports them.
H100_GB = 81_559 * 2**20 / GIGA
#: Share of the memory that vLLM takes by default (gpu_memory_utilization).
MEMORY_SHARE = 0.9
#: Llama-3.1-70B at one byte a weight (FP8); at two bytes it does not fit one H100.
WEIGHTS_GB = 70.55
#: The free parameter: gigabytes of each GPU for activations and buffers, chosen so that the sum gives the published 13.9.
FITTED_WORKING_GB = 0.49


def kv_cache_gain(tp: int = 2, working_gb: float = FITTED_WORKING_GB) -> float:
    """KV-cache blocks with `tp` GPUs over those with one: each GPU adds its memory, the weights are held once.

    With 2 GPUs and the working memory fitted it is 13.9: one GPU has almost nothing left beside the weights, the second brings all of its
    memory. Raises ValueError where the weights leave one GPU no room.
    """
    room = H100_GB * MEMORY_SHARE - working_gb
    if room <= WEIGHTS_GB:
        raise ValueError(f"one GPU has {room:.1f} GB for {WEIGHTS_GB} GB of weights")
    return (tp * room - WEIGHTS_GB) / (room - WEIGHTS_GB)
