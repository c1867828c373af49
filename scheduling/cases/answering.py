"""Answers to the questions of a file, by the engine alone.

    {case: {"placed": true, "assignment": [{"node", "count"}], "moves": [] for `consolidate`}}
    {case: {"placed": false, "assignment": [], "reason": {"code", "fit", "of", "unit", ...}}}
    {floor: [{"placed", "per_rack": {rack: nodes}}, ...]}

Cases of other kinds are not answered; nor are a torus, a request in parts, and consolidation without one request of its own or for a job
that does not count in GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from clusters.domain.constraints import Layer, LevelMode
from clusters.domain.errors import InvalidRequest
from scheduling.cases.consolidating import make_room, may_consolidate
from scheduling.cases.fields import Fields
from scheduling.cases.reading import Question, read_consolidate, read_place, read_replace
from scheduling.domain.trees import Allocation, Ask, Tree, TreeCode, TreeRefusal, build_tree, place_tree, replace_tree

Answer = Any  # as JSON has it

READERS: dict[str, Callable[[Fields], Question | None]] = {"place": read_place, "replace": read_replace, "consolidate": read_consolidate}

NOT_MOVABLE = "not_movable"  # the reason where consolidation is not for the job
NODES_PER_RACK = 18  # of an NVL72: on observed floors, a job up to so many nodes without slices stays in one rack


class Questions:
    """The questions of one file. Raises InvalidRequest where it is neither kind."""

    def __init__(self, document: object) -> None:
        file = Fields(document, "")
        self._floors = file.has("floors")
        if not self._floors and not file.has("cases"):
            raise file.wrong("cases", "give a list of cases, or `floors`")
        self._parts = list(file.parts("floors" if self._floors else "cases"))

    def __len__(self) -> int:
        return len(self._parts)

    def answers(self) -> Iterator[tuple[str, Answer | None]]:
        """(name, answer) of each case or floor in the file's order; None for a kind that is not answered."""
        places: dict[str, str] = {}
        for part in self._parts:
            name = part.text("id")
            if name in places:
                raise part.wrong("id", f"give each an id of its own; {places[name]} has this one too")
            places[name] = part.place
            try:
                answer = _floor(part) if self._floors else _case(part)
            except InvalidRequest as error:
                raise InvalidRequest(f"{error.field} of {name!r}", error.value, error.expected) from error
            yield name, answer


def _case(case: Fields) -> Answer | None:
    reader = READERS.get(case.text("kind", "place"))
    if reader is None or case.has("torus") or case.has("parts") or (reader is read_consolidate and not case.has("request")):
        return None
    if not case.has("request"):
        raise case.wrong("request", "say what is asked for: give an object with a count")
    question = reader(case)
    if question is None:
        return None
    if reader is read_consolidate:
        return _consolidated(case, question)
    return _placed(question) if reader is not read_replace else _swapped(question)


def _placed(question: Question) -> dict[str, Answer]:
    """All workers, or else as many as fit where fewer will do."""
    found = place_tree(question.tree, question.ask)
    if isinstance(found, TreeRefusal) and found.fit * found.unit >= question.low:
        found = place_tree(question.tree, replace(question.ask, count=found.fit * found.unit))
    return _answer(question, found)


def _consolidated(case: Fields, question: Question) -> dict[str, Answer]:
    """Where it fits as it is, else where it fits once the fewest workers have moved; nowhere for a job that could not move in turn."""
    if not may_consolidate(case):
        return {"placed": False, "assignment": [], "moves": [], "reason": {"code": NOT_MOVABLE}}
    answer = _placed(question)
    if answer["placed"] or answer["reason"]["code"] != TreeCode.INSUFFICIENT:
        return answer | {"moves": []}
    room = make_room(case, question)
    moved = _placed(room[0]) if room is not None else answer
    return moved | {"moves": room[1]} if room is not None and moved["placed"] else answer | {"moves": []}


def _swapped(question: Question) -> dict[str, Answer]:
    """The whole new assignment: those that stay and those in the lost ones' place."""
    found = replace_tree(question.tree, question.ask, question.kept)
    if isinstance(found, Allocation):
        whole = dict(question.kept)
        for leaf, workers in found.counts:
            whole[leaf] = whole.get(leaf, 0) + workers
        found = Allocation(counts=tuple(sorted(whole.items())))
    return _answer(question, found)


def _answer(question: Question, found: Allocation | TreeRefusal) -> dict[str, Answer]:
    if isinstance(found, TreeRefusal):
        return {"placed": False, "assignment": [], "reason": _reason(found, question)}
    return {"placed": True, "assignment": [{"node": question.names[leaf], "count": workers} for leaf, workers in found.counts]}


def _reason(refusal: TreeRefusal, question: Question) -> dict[str, Answer]:
    """A refusal in the words of case files."""
    several = refusal.code is TreeCode.INSUFFICIENT and len(refusal.layers) > 1
    reason: dict[str, Answer] = {"code": refusal.code.replace("-", "_") + ("_multi_layer" if several else "")}
    if refusal.level:
        reason["level"] = refusal.level
    if refusal.of:
        unit = "slice" if refusal.unit > 1 else "worker"
        reason |= {"fit": refusal.fit, "of": refusal.of, "unit": unit, "best": list(refusal.best), "free": refusal.free}
    if refusal.layers:
        reason["layers"] = [{"level": layer.level, "fit": layer.fit, "of": layer.of} for layer in refusal.layers]
    return reason | {"excluded_nodes": dict(sorted(question.excluded.items())), "candidate_nodes": question.nodes}


def _floor(floor: Fields) -> list[Answer]:
    """Each request of a floor alone, on the free nodes of its racks."""
    free = floor.part("free")
    tree = build_tree(("rack",), {(rack,): free.whole(rack) for rack in free.names()})
    return [_on_floor(tree, request) for request in floor.parts("requests", needed=True)]


def _on_floor(tree: Tree, request: Fields) -> Answer:
    count, size = request.whole("count", low=1), request.whole("slice_size", 0)
    layers = (Layer(level="rack", size=size),) if size else ()
    mode = LevelMode.REQUIRED if not size and count <= NODES_PER_RACK else LevelMode.ANY
    found = place_tree(tree, Ask(count=count, mode=mode, level="rack", layers=layers))
    if isinstance(found, TreeRefusal):
        return {"placed": False, "per_rack": {}, "reason": {"code": found.code.replace("-", "_"), "fit": found.fit, "of": found.of}}
    return {"placed": True, "per_rack": {tree.leaves[leaf][0]: workers for leaf, workers in found.counts}}
