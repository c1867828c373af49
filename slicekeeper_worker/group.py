"""The workers of one assignment, joined in a star around rank 0: they sum vectors, and bring new ones to the state of the others.

A group lives as long as its assignment. Whoever of it is lost, all of it breaks, and everybody learns that at once: the connection closes.
The work pauses at its last finished step, takes the next assignment, and forms a new group. There the state of whoever got furthest is
given to all who are behind, new or not: a survivor never goes back, and no more is lost than the step that was broken off.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from slicekeeper_worker.assignment import Assignment
from slicekeeper_worker.vectors import Buffer, add_into, check_bytes
from slicekeeper_worker.wires import Broken, Header, Places, Wire
from slicekeeper_worker.worker import Worker

#: Seconds between looks at whether there is a later assignment, while others are waited for.
LOOK = 0.1
#: Seconds for one message once it has begun, and for what a newcomer says first.
MESSAGE = 30.0
HELLO = 5.0
#: Workers that a message names at most.
MOST_NAMED = 5
#: Seconds in which a donor that was hung up on hears why.
NEWS = 1.0
#: Seconds that work which has moved waits for somebody who still has its state.
DONORS = 10.0


class PeerLost(Exception):
    """The group is broken, or was not formed: take the latest assignment, and form another."""


class State(NamedTuple):
    """What a worker has in memory: as of a step, as bytes."""

    step: int
    block: bytes


@dataclass(slots=True)
class _Peer:
    wire: Wire
    step: int  # that its state is of; -1 = it has none


class Group:
    """The workers of one assignment. Make it by `form`."""

    def __init__(self, worker: Worker, peers: dict[int, _Peer], root: Wire | None) -> None:
        self._worker = worker
        self._peers = peers  # of rank 0: the others
        self._root = root  # of the others

    @classmethod
    def form(cls, worker: Worker, places: Places, state: State | None, restore: Callable[[], State], seconds: float) -> tuple[Group, State]:
        """Join all workers of the assignment in use; returns the group, and the state that all of them have now.

        `restore` is asked, by rank 0, where nobody has any state. Raises PeerLost when there is a later assignment, a worker was lost
        meanwhile, or the time was not enough.
        """
        assignment = worker.assignment
        if not assignment.complete:
            raise PeerLost(f"generation {assignment.generation} lacks a node")
        try:
            if worker.rank == 0:
                return _Gathering(worker, places, time.monotonic() + seconds).gather(state, restore)
            return _attend(worker, places, state, time.monotonic() + seconds)
        except Broken as error:
            raise PeerLost(str(error)) from None

    def sum(self, vector: Buffer) -> bytearray:
        """The sum of everybody's vector of doubles, the same to the last bit for all; raises PeerLost, TypeError."""
        check_bytes(vector)
        try:
            if self._root is not None:
                self._root.send({}, vector)
                return _next(self._worker, self._root, "rank 0")[1]
            total = bytearray(vector)
            for rank, peer in sorted(self._peers.items()):
                add_into(total, _next(self._worker, peer.wire, f"rank {rank}")[1])
            for peer in self._peers.values():
                peer.wire.send({}, total)
            return total
        except Broken as error:
            self.close()
            raise PeerLost(str(error)) from None

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up on everybody."""
        for wire in [peer.wire for peer in self._peers.values()] + ([self._root] if self._root is not None else []):
            wire.close()


class _Gathering:
    """Rank 0 waits for the others."""

    def __init__(self, worker: Worker, places: Places, ends: float) -> None:
        self._worker = worker
        self._ends = ends
        self._listener = places.listen(worker.node)
        self._listener.settimeout(LOOK)
        self._peers: dict[int, _Peer] = {}
        self._donors: list[_Peer] = []  # of earlier assignments: they have a state to give away

    def gather(self, state: State | None, restore: Callable[[], State]) -> tuple[Group, State]:
        try:
            while len(self._peers) < self._worker.world - 1:
                self._accept()
            if self._best(state) < 0 and self._worker.generation > 1:
                self._await_donors()
            whole = self._agree(state, restore)
        except (Broken, PeerLost):
            self._hang_up([*self._peers.values(), *self._donors])
            raise
        finally:
            self._listener.close()
        self._hang_up(self._donors)
        return Group(self._worker, self._peers, None), whole

    def _best(self, state: State | None) -> int:
        steps = [peer.step for peer in (*self._peers.values(), *self._donors)]
        return max([_step_of(state), *steps])

    def _await_donors(self) -> None:
        ends = min(self._ends, time.monotonic() + DONORS)
        while not self._donors and time.monotonic() < ends:
            self._accept()

    def _agree(self, state: State | None, restore: Callable[[], State]) -> State:
        """Everybody gets the state of whoever is furthest."""
        best = self._best(state)
        if best < 0:
            state = restore()
        elif state is None or state.step < best:
            giver = next(peer for peer in (*self._peers.values(), *self._donors) if peer.step == best)
            giver.wire.send({"give": True})
            header, block = giver.wire.receive()
            state = State(int(header["step"]), bytes(block))
        for peer in self._peers.values():
            behind = peer.step < state.step
            peer.wire.send({"step": state.step, "behind": behind}, state.block if behind else b"")
        return state

    def _accept(self) -> None:
        """Take in one newcomer, if there is one."""
        _check(self._worker, self._ends, self._absent)
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return
        wire = _wire(connection)
        try:
            hello, _ = wire.receive()
            self._take(wire, hello)
        except (Broken, KeyError, TypeError, ValueError):  # not one of ours, or gone again
            wire.close()

    def _absent(self) -> str:
        """Who has not come."""
        places = self._worker.assignment.places
        absent = [f"rank {place.rank} ({place.node})" for place in places[1:] if place.rank not in self._peers]
        more = f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
        return ", ".join(absent[:MOST_NAMED]) + more

    def _take(self, wire: Wire, hello: Header) -> None:
        if hello["job"] != self._worker.job or hello["generation"] != self._worker.generation:
            wire.send({"no": f"this is generation {self._worker.generation} of job {self._worker.job}"})
            raise Broken("somebody of another generation")
        wire.patience(MESSAGE)
        peer = _Peer(wire, int(hello["step"]))
        if hello["donor"]:
            self._donors.append(peer)
            return
        former = self._peers.get(int(hello["rank"]))
        self._peers[int(hello["rank"])] = peer
        if former is not None:  # it has lost patience, and come again
            former.wire.close()

    def _hang_up(self, peers: list[_Peer]) -> None:
        for peer in peers:
            peer.wire.close()


def _attend(worker: Worker, places: Places, state: State | None, ends: float) -> tuple[Group, State]:
    """Every other rank comes to rank 0."""
    wire = _reach(worker, places, worker.assignment, state, ends, donor=False)
    try:
        header, block = _next(worker, wire, "rank 0", ends)
        if "give" in header and state is not None:
            wire.send({"step": state.step}, state.block)
            header, block = _next(worker, wire, "rank 0", ends)
        return Group(worker, {}, wire), _agreed(header, block, state)
    except (Broken, PeerLost):
        wire.close()
        raise


def _agreed(header: Header, block: bytes | bytearray, state: State | None) -> State:
    """The state that rank 0 says everybody has from here on."""
    if "no" in header:
        raise Broken(str(header["no"]))
    whole = State(int(header["step"]), bytes(block)) if header.get("behind", True) else state
    if whole is None:
        raise Broken("rank 0 has sent no state")
    return whole


def donate(worker: Worker, places: Places, state: State, seconds: float) -> bool:
    """Offer the state of a worker that has no slot any more to the new rank 0; whether it was taken.

    Where the new place changes once more before it has the state, it is offered to whoever is rank 0 then.
    """
    ends = time.monotonic() + seconds
    while True:
        try:
            return _offer(worker, places, state, ends)
        except (Broken, PeerLost):
            if not worker.wait(NEWS):
                return False
        assignment = worker.take()
        if assignment.over or assignment.place_of(worker.node) is not None:
            return False


def _offer(worker: Worker, places: Places, state: State, ends: float) -> bool:
    """Offer it to the rank 0 of the assignment in use; raises Broken, PeerLost."""
    wire = _reach(worker, places, worker.assignment, state, ends, donor=True)
    try:
        header, _ = _next(worker, wire, "rank 0", ends)
        if "give" not in header:
            return False
        wire.send({"step": state.step}, state.block)
        with suppress(Broken, PeerLost):
            _next(worker, wire, "rank 0", ends)  # until it hangs up
        return True
    finally:
        wire.close()


def _reach(worker: Worker, places: Places, assignment: Assignment, state: State | None, ends: float, *, donor: bool) -> Wire:
    """A connection to rank 0, which may not listen yet."""
    node = assignment.node_of(0)
    hello: Header = {"job": worker.job, "generation": assignment.generation, "step": _step_of(state), "donor": donor}
    if not donor:
        hello["rank"] = worker.rank
    while True:
        _check(worker, ends, lambda: f"rank 0 ({node})")
        try:
            wire = places.connect(node or "", HELLO)
        except Broken:
            time.sleep(LOOK)
            continue
        wire.patience(MESSAGE)
        try:
            wire.send(hello)
            return wire
        except Broken:
            wire.close()


def _next(worker: Worker, wire: Wire, who: str, ends: float | None = None) -> tuple[Header, bytearray]:
    """The next message; raises Broken, and PeerLost where it does not come while the assignment holds."""
    ends = time.monotonic() + MESSAGE if ends is None else ends
    while not select.select([wire], [], [], LOOK)[0]:
        _check(worker, ends, lambda: who)
    try:
        return wire.receive()
    except Broken as error:
        raise Broken(f"{who}: {error}") from None


def _check(worker: Worker, ends: float, who: Callable[[], str]) -> None:
    if worker.changed:
        raise PeerLost("there is a later assignment")
    if time.monotonic() > ends:
        raise PeerLost(f"heard nothing in time from {who()}")


def _wire(connection: socket.socket) -> Wire:
    wire = Wire(connection)
    wire.patience(HELLO)
    return wire


def _step_of(state: State | None) -> int:
    return -1 if state is None else state.step
