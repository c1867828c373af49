"""Refusals of placement: why a request cannot be placed now, as a code and counted reasons, and the sentence they make.

The sentence is made from the counts and not stored with them: page, API and command all say the same, also of an event read years later.

infeasible         could never fit the registered inventory, all healthy and empty, under the policy
capacity-blocked   too few nodes free, counted after taking away those that the request may not use
topology-blocked   enough nodes free, but no domain (for work below a node: no node) holds a slice
policy, health     see `causes`
quota, held, recovery_budget
                   see `terms`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusters.domain.books import PLACEABLE, Condition
from clusters.domain.decision import Refusal
from scheduling.domain.terms import HELD, QUOTA, RECOVERY_BUDGET, budget_words, held_words, quota_words
from scheduling.domain.wording import many

INFEASIBLE = "infeasible"
CAPACITY = "capacity-blocked"
TOPOLOGY = "topology-blocked"
POLICY = "policy"
HEALTH = "health"

Counts = Mapping[str, int | str]

#: What `with_conditions` calls a repaired node whose check has not passed yet.
UNCHECKED = "unchecked"

#: What keeps a node from taking work, as it reads in a sentence: "3 nodes failed, 1 draining".
_OUT: dict[str, str] = {
    **{f"nodes_{condition}": condition.replace("_", " ") for condition in Condition if condition not in PLACEABLE},
    f"nodes_{UNCHECKED}": "waiting for a check",
}


def infeasible(field: str, value: int | str, expected: str) -> Refusal:
    """A request that no state of this cluster could serve; names the field, its value, and what would fit."""
    counts: dict[str, int | str] = {"expected": expected, "field": field, "value": value}
    return Refusal(code=INFEASIBLE, message=_infeasible(counts), counts=counts)


def blocked(asked: int, usable: int, counts: Counts) -> Refusal:
    """A request that cannot be placed now: too little is usable, or it lies in the wrong places."""
    return Refusal(code=CAPACITY if usable < asked else TOPOLOGY, counts=dict(sorted(counts.items())))


def with_conditions(refusal: Refusal, nodes: Mapping[str, int]) -> Refusal:
    """The refusal with the numbers of nodes that are out by their condition; UNCHECKED counts as one."""
    out = {key: count for condition, count in nodes.items() if count and (key := f"nodes_{condition}") in _OUT}
    return Refusal(code=refusal.code, message=refusal.message, counts=dict(sorted({**refusal.counts, **out}.items())))


def explain(refusal: Refusal) -> str:
    """One sentence for people, e.g. "needs 1 domain with 16 free; best is r07 with 12; 34 nodes free in 9 domains; 3 nodes failed"."""
    counts = refusal.counts
    if refusal.message:
        return refusal.message
    if "expected" in counts:
        return _infeasible(counts)
    if refusal.code in _TERMS and counts:
        parts = _TERMS[refusal.code](counts)
    elif "gpus" in counts:
        parts = _gpu_reasons(counts)
    elif "slices" in counts:
        parts = _node_reasons(counts)
    else:
        return refusal.code.replace("-", " ").replace("_", " ")
    return "; ".join([*parts, *_conditions(counts), *_causes(refusal)])


_TERMS: Mapping[str, Callable[[Counts], list[str]]] = {QUOTA: quota_words, HELD: held_words, RECOVERY_BUDGET: budget_words}


def _causes(refusal: Refusal) -> list[str]:
    if refusal.code == POLICY:
        return [f"would fit if the policy did not keep {refusal.counts['min_spares']} free in each domain"]
    return ["would fit if they were well"] if refusal.code == HEALTH else []


def _infeasible(counts: Counts) -> str:
    return f"{counts['field']}: {counts['value']} can never be placed here; {counts['expected']}"


def _node_reasons(counts: Counts) -> list[str]:
    parts = [f"{_short(counts)}{_need(counts)}"]
    if "level" not in counts and "part" not in counts and "best_domain" in counts:
        parts.append(f"best is {counts['best_domain']} with {counts['best_free']}")
    if "best_group" in counts:
        parts.append(f"best is {counts['best_group']} with {counts['group_nodes']}")
    if "empty_domains" in counts:
        parts.append(f"{many(counts['empty_domains'], 'domain')} without other work")
    parts.append(f"{many(counts['free_nodes'], 'node')} free in {many(counts['free_domains'], 'domain')}")
    return parts + _kept(counts)


def _short(counts: Counts) -> str:
    """What a slice lacks where it is, of a job that runs."""
    if "missing" not in counts:
        return ""
    has = f"{counts['home']} has {counts['home_free'] or 'none'} to spare"
    return f"slice {counts['slice']} lacks {counts['missing']} of its {many(counts['of'], 'node')} and {has}; elsewhere it "


def _need(counts: Counts) -> str:
    """What the request needs at once, e.g. "needs 1 block with 96 in slices of 16"."""
    size, slices, nodes = counts["slice_size"], int(counts["slices"]), counts["nodes"]
    runs = f" ({counts['layers']})" if "layers" in counts else ""
    empty = "empty " if "empty_domains" in counts else ""
    if "part" in counts:
        beside = f"needs {counts['parts']} parts at once{' in 1 ' + str(counts['level']) if 'level' in counts else ''}"
        return f"{beside}; of part {counts['part']} {counts['part_fit']} of {counts['part_slices']} slices of {counts['part_size']} fit"
    if "level" in counts:
        return f"needs 1 {counts['level']} with {nodes} {f'in slices of {size}' if slices > 1 else 'free'}{runs}"
    if slices == 1:
        return f"needs 1 {empty}domain with {size} free"
    return f"needs {slices} slices of {size}{runs}{' in empty domains' if empty else ''}, {counts['fit']} fit"


def _gpu_reasons(counts: Counts) -> list[str]:
    parts = [f"{_short(counts)}needs 1 node with {many(counts['gpus'], 'GPU')} free"]
    if "best_node" in counts:
        parts.append(f"best is {counts['best_node']} with {counts['best_gpus']}")
    parts.append(f"{many(counts['free_gpus'], 'GPU')} free")
    return parts + _kept(counts)


def _kept(counts: Counts) -> list[str]:
    kept, own = counts["spares_kept"], counts.get("kept_for_job", 0)
    parts = [f"{many(kept, 'more node')} kept as {'a spare' if kept == 1 else 'spares'}"] if kept else []
    return [*parts, f"{many(own, 'more node')} kept for this job"] if own else parts


def _conditions(counts: Counts) -> list[str]:
    out = [(counts[key], words) for key, words in _OUT.items() if key in counts]
    return [", ".join(f"{many(count, 'node') if not place else count} {words}" for place, (count, words) in enumerate(out))] if out else []
