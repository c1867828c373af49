"""Which nodes, back in service, would let the job start: one, else two. And which rack, if it took work again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clusters.domain.books import Condition
from clusters.domain.state import Node
from scheduling.domain.counterfactuals.near import lacking, whole_shape
from scheduling.domain.counterfactuals.question import Change, Counterfactual, Kind, Question
from scheduling.domain.trial import Trial
from scheduling.domain.wording import listed

#: Conditions that end: somebody releases or undrains the node, which takes a word; or it is repaired, or answers again. The wait for a
#: check ends by a word, too.
BY_WORD = frozenset({Condition.QUARANTINED, Condition.DRAINING})
RETURNING = BY_WORD | {Condition.FAILED, Condition.IN_REPAIR, Condition.SUSPECT, Condition.UNKNOWN}

Nodes = tuple[int, ...]


def repairs(question: Question) -> Counterfactual | None:
    """The fewest nodes, up to two, whose return alone lets the job start; of several, those that take but a word, then by place."""
    out = _of_use(question, _out_of_service(question))
    for nodes in _enough(question, out):
        if question.starts(_back([nodes])):
            return _told(question, nodes)
        if not question.passes:
            break
    return None


def _out_of_service(question: Question) -> list[Nodes]:
    """The first two such nodes of each domain, by what it takes and by place in the topology.

    No more than two return, and the nodes of one domain do the same for it, if they have as many GPUs.
    """
    topology = question.state.topology
    found: dict[tuple[int, int], list[tuple[bool, int]]] = {}
    for node in question.state.nodes.values():
        if _may_return(node):
            index = topology.index[node.name]
            found.setdefault((topology.domain_of[index], node.gpus), []).append((not _takes_a_word(node), index))
    firsts = sorted(sorted(nodes)[:2] for nodes in found.values())
    return [tuple(index for _, index in nodes) for nodes in firsts]


def _of_use(question: Question, out: Sequence[Nodes]) -> list[Nodes]:
    """Those whose domain would hold one more slice with them."""
    shape, domain_of = whole_shape(question), question.state.topology.domain_of
    return [nodes for nodes in out if shape is None or lacking(question, shape, domain_of[nodes[0]], len(nodes)) <= 0]


def _may_return(node: Node) -> bool:
    idle = not (node.job or node.shares)  # else its return frees nothing
    returns = node.condition in RETURNING or node.unchecked is not None
    return idle and returns and not node.shut and not node.problem and node.domain is not None


def _takes_a_word(node: Node) -> bool:
    return node.condition in BY_WORD or (node.condition not in RETURNING and node.unchecked is not None)


def _what_is_wrong(node: Node) -> str:
    return node.condition.replace("_", " ") if node.condition in RETURNING else "waits for its check"


def _enough(question: Question, out: Sequence[Nodes]) -> Iterator[Nodes]:
    ones = [(nodes[0],) for nodes in out]
    yield from question.fitting(ones, _back)
    yield from question.fitting([nodes for nodes in out if len(nodes) == 2], _back)
    if not question.fits(_back(ones)):
        return  # no two of different domains do
    for place, first in enumerate(ones):
        for second in question.fitting(ones[place + 1 :], _beside(first)):
            yield first + second


def _back(groups: Sequence[Nodes]) -> Change:
    def change(trial: Trial) -> None:
        for node in (node for nodes in groups for node in nodes):
            trial.space.set_placeable(node, placeable=True)

    return change


def _beside(first: Nodes) -> Callable[[Sequence[Nodes]], Change]:
    return lambda groups: _back([first, *groups])


def _told(question: Question, nodes: Nodes) -> Counterfactual:
    names = [question.state.topology.nodes[index].name for index in nodes]
    words = [f"{name} ({_what_is_wrong(question.state.nodes[name])})" for name in names]
    what = f"node {words[0]} were" if len(words) == 1 else f"nodes {listed(words)} were"
    return Counterfactual(kind=Kind.REPAIR, text=f"{question.would} if {what} back in service", params={"nodes": tuple(names)})


def open_racks(question: Question) -> Counterfactual | None:
    """The rack, closed by an operator, whose opening alone lets the job start; of several the first by name."""
    for rack in question.fitting(sorted(question.state.closed_racks), lambda racks: _open(question, racks)):
        if question.starts(_open(question, [rack])):
            word = question.state.racks[rack].service.state.replace("_", " ")
            return Counterfactual(kind=Kind.OPEN, text=f"{question.would} if rack {rack} ({word}) were open", params={"rack": rack})
    return None


def _open(question: Question, racks: Sequence[str]) -> Change:
    """Nodes that nothing but their rack keeps out take work again."""
    index, taken = question.state.topology.index, set(racks)
    nodes = [node for node in question.state.nodes.values() if node.rack in taken and node.shut]
    well = [index[node.name] for node in nodes if node.in_service and not node.problem and node.domain is not None]

    def change(trial: Trial) -> None:
        for node in well:
            trial.space.set_placeable(node, placeable=True)

    return change
