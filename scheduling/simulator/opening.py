"""Creating the demo cluster: 128 racks, as full as they will be, before anybody looks at them.

What its log says of that is how it came to be: nodes that were down already, the jobs of its users, and the real passes that placed them;
the first hour is played as fast as it goes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import replace

from clusters.connectors.lease import Lease
from clusters.connectors.simulated.chance import uniform
from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.connectors.simulated.options import FAILURES_PER_NODE_DAY, REPAIR_FLAT, REPAIR_PUBLISHED, FleetOptions
from clusters.domain.errors import ClusterExists
from clusters.domain.events import NewEvent
from clusters.domain.evolve import FLEET_SOURCE
from clusters.domain.health_events import NodeFailed
from clusters.domain.ids import MINUTE, Duration, Instant
from clusters.domain.inventory_events import NodeRegistered
from clusters.domain.policy import Policy
from clusters.domain.setting import DefragMode
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from scheduling import services
from scheduling.simulator.users import users_of

NAME = "demo"
RACKS = 128
SPEED = 300.0

#: Production fleets report 2 % of nodes out of service and 490 days between failures of a node: repairs of 10 days on average.
DOWN_SHARE = 0.02
DAYS_BETWEEN_FAILURES = 490.0
REPAIR_HOURS = 240.0

#: Cluster time that is played before the demo is shown.
PLAYED = 60 * MINUTE


def demo_options(*, published_repairs: bool = False, seed: int = 7) -> FleetOptions:
    """Calibrated to 2 % of nodes down; or to the published repair times, under which it is 0.2 %."""
    return FleetOptions(
        seed=seed,
        failures_per_node_day=FAILURES_PER_NODE_DAY if published_repairs else 1 / DAYS_BETWEEN_FAILURES,
        repair_model=REPAIR_PUBLISHED if published_repairs else REPAIR_FLAT,
        repair_mean_h=REPAIR_HOURS,
        generator=1,
        pause_idle=1,
        speed=SPEED,
    )


def demo_create(*, options: FleetOptions, racks: int = RACKS, played: Duration = PLAYED) -> bool:
    """Create the demo cluster; False where it is there already."""
    wall = wall_now()
    shape = Shape(racks=racks)
    down = _down_from_the_start(options, shape, wall) if options.repair_model == REPAIR_FLAT else []
    try:
        create_simulated(NAME, shape, options, by="load_demo", cluster_time=wall, facts=down)
    except ClusterExists:
        return False
    policy = replace(Policy(), defrag_mode=DefragMode.AUTO)
    services.policy_change(cluster=NAME, policy=policy, expected=1, by="load_demo", reason="the demonstration makes room by itself")
    lease = Lease(NAME, f"{socket.gethostname()[:60]}:{os.getpid()}:load_demo")
    if lease.acquire():  # else a running server has noticed the cluster, and fills it at its own pace
        try:
            _play(lease, wall + played)
        finally:
            lease.release()
    return True


def _play(lease: Lease, until: Instant) -> None:
    def settle(_: Sequence[NewEvent]) -> None:
        services.run_pass(NAME)
        lease.keep(0)

    log = default_log()
    with log.live(NAME).reading() as state:
        users = users_of(state, next(log.read(NAME, 0, 1)).occurred_at)
    Driver(log, NAME, passes=Passes(settle, services.deadline_of(NAME)), guard=lease.check, generator=users).play(until)


def _down_from_the_start(options: FleetOptions, shape: Shape, at: Instant) -> list[NewEvent]:
    """Each node was down with the probability that it is at any time."""
    nodes = [payload.node for payload in shape.inventory() if isinstance(payload, NodeRegistered)]
    return [
        NewEvent(NodeFailed(node=node, reason="down when the cluster was taken over"), at, FLEET_SOURCE, f"n/{node}/1/failed")
        for node in nodes
        if uniform(options.seed, "down", node) < DOWN_SHARE
    ]
