"""Claims: the guard that no GPU has two owners follows from the events, and holds where a program goes wrong."""

from __future__ import annotations

import pytest

from clusters.domain.books import Condition
from clusters.domain.dump import dump_state
from clusters.domain.errors import BrokenInvariant
from clusters.domain.health_events import NodeFailed, NodeRecovered
from clusters.domain.job_events import NodeSwapped, SliceAssignment, SliceMoved
from clusters.eventlog.log import StoredLog
from tests.contract.eventlog.toy import CLUSTER, always, fact, inventory, placing, run_pass, stopped, submission, submit


def test_claims_say_who_holds_which_gpu_since_which_generation(toy: StoredLog) -> None:
    whole, shared = submit(toy, "a"), submit(toy, "b")
    toy.commit(CLUSTER, submission("p"), always(placing(whole, "r1-n1"), placing(shared, "r1-n2", gpus=(1, 3))))
    holders = {(node, gpu): holder for (node, gpu), holder in toy.claims(CLUSTER).items() if holder[0] == shared}
    assert holders == {("r1-n2", 1): (shared, 1), ("r1-n2", 3): (shared, 1)}
    assert sum(job == whole for job, _ in toy.claims(CLUSTER).values()) == 4


def test_a_swap_and_a_move_claim_the_new_nodes(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, inventory(2, 4)[5:])
    job = submit(toy, "a", nodes=2)
    run_pass(toy)
    toy.append_facts(CLUSTER, [stopped(job, ["r1-n1"], "s1")])
    swap = NodeSwapped(job=job, generation=2, slice=0, slot=0, old="r1-n1", new="r1-n3", reason="")
    toy.commit(CLUSTER, submission("swap"), always(swap))
    assert {(node, generation) for (node, _), (_, generation) in toy.claims(CLUSTER).items()} == {("r1-n2", 1), ("r1-n3", 2)}
    target = SliceAssignment(domain="d2", nodes=("r2-n1", "r2-n2"))
    move = SliceMoved(job=job, generation=3, slice=0, old_domain="d1", assignment=target, released=("r1-n2", "r1-n3"), lost=(), reason="")
    toy.commit(CLUSTER, submission("move"), always(move))
    assert {node for node, _ in toy.claims(CLUSTER)} == {"r1-n2", "r1-n3", "r2-n1", "r2-n2"}
    toy.append_facts(CLUSTER, [stopped(job, ["r1-n2", "r1-n3"], "s2", generation=2)])
    assert {(node, generation) for (node, _), (_, generation) in toy.claims(CLUSTER).items()} == {("r2-n1", 3), ("r2-n2", 3)}


def test_a_swap_of_shared_work_claims_its_gpus_only(toy: StoredLog) -> None:
    job = submit(toy, "a")
    toy.commit(CLUSTER, submission("p"), always(placing(job, "r1-n1", gpus=(0, 2))))
    toy.append_facts(CLUSTER, [stopped(job, ["r1-n1"], "s1")])
    swap = NodeSwapped(job=job, generation=2, slice=0, slot=0, old="r1-n1", new="r1-n3", reason="")
    toy.commit(CLUSTER, submission("swap"), always(swap))
    assert set(toy.claims(CLUSTER)) == {("r1-n3", 0), ("r1-n3", 2)}


def test_r21_a_program_gone_wrong_cannot_book_a_gpu_twice(toy: StoredLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """R21: the store itself refuses, even where the fold would not see it, and all of the decision goes back."""
    first, second = submit(toy, "a"), submit(toy, "b")
    toy.commit(CLUSTER, submission("p"), always(placing(first, "r1-n1")))
    before, claims = dump_state(toy.live(CLUSTER).catch_up()), toy.claims(CLUSTER)
    monkeypatch.setattr(toy.live(CLUSTER), "fold", lambda events: None)
    for number, nodes in enumerate((("r1-n1",), ("r1-n2", "r1-n1"), ("r1-n3", "r1-n3"))):
        with pytest.raises(BrokenInvariant, match=second):
            toy.commit(CLUSTER, submission(f"wrong{number}"), always(placing(second, *nodes)))
    monkeypatch.undo()
    assert (toy.head(CLUSTER), toy.claims(CLUSTER)) == (before["seq"], claims)
    assert len(list(toy.decisions(CLUSTER))) == 3
    assert dump_state(toy.live(CLUSTER).catch_up()) == before


def test_facts_give_back_the_gpus_of_nodes_whose_work_has_stopped(toy: StoredLog) -> None:
    job = submit(toy, "a", nodes=3)
    run_pass(toy)
    assert {node for node, _ in toy.claims(CLUSTER)} == {"r1-n1", "r1-n2", "r1-n3"}
    toy.append_facts(CLUSTER, [stopped(job, ["r1-n1"], "old", generation=0), stopped("j999999", ["r1-n1"], "other")])
    assert len(toy.claims(CLUSTER)) == 12
    toy.append_facts(CLUSTER, [stopped(job, ["r1-n1", "r1-n2"], "now")])
    assert set(toy.claims(CLUSTER)) == {("r1-n3", gpu) for gpu in range(4)}
    toy.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n3", reason="dead"), "f1")])
    assert len(toy.claims(CLUSTER)) == 4
    toy.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n3", reason="dead", fencing=True), "f2", at=2)])
    assert toy.claims(CLUSTER) == {}


def test_claims_and_fold_agree_on_a_death_that_is_told_late(toy: StoredLog) -> None:
    """What a source has said since does not bring back to life what ran there."""
    job = submit(toy, "a", nodes=2)
    run_pass(toy)
    toy.append_facts(CLUSTER, [fact(NodeRecovered(node="r1-n1", reason="well"), "f1", at=9)])
    toy.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n1", reason="dead", fencing=True), "f2", at=5)])
    state = toy.live(CLUSTER).catch_up()
    assert state.nodes["r1-n1"].condition is Condition.HEALTHY
    assert set(state.jobs[job].held_nodes) == {node for node, _ in toy.claims(CLUSTER)} == {"r1-n2"}
