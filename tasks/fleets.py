"""Driving the simulated fleets: one thread each, for as long as its lease is held."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from uuid import uuid4

from django.db import DatabaseError, OperationalError, close_old_connections, connections

from clusters.connectors.lease import Lease
from clusters.connectors.presence import last_seen
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.domain.errors import ClusterError, FencedOut, UnknownCluster
from clusters.domain.events import NewEvent
from clusters.domain.ids import MINUTE, SECOND, Duration
from clusters.domain.state import SIMULATED
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log, subscribe
from scheduling.services import deadline_of
from scheduling.simulator.users import users_of
from tasks.waking import QUIET, is_settled

logger = logging.getLogger(__name__)

#: Wall time that a fleet waits for the pass before it goes on without.
SETTLE_SECONDS = 10.0

#: Between two looks while it waits: the pass may run in another process.
SETTLE_LOOK_SECONDS = 0.005

#: Between two tries to get a lease, and after trouble.
RETRY_SECONDS = 1.0

#: How often new clusters are looked for.
NOTICE_SECONDS = 1.0

#: A fleet that rests does so this long after the last browser has left.
REST_AFTER = 30 * MINUTE
REST_LOOK = SECOND


class FleetThread:
    """Drives one fleet whenever nobody else does."""

    def __init__(self, cluster: str, stop: threading.Event) -> None:
        self.cluster = cluster
        self.wake = threading.Event()  # something was appended
        self._stop = stop
        self._lease = Lease(cluster, f"{socket.gethostname()[:60]}:{os.getpid()}:{uuid4().hex[:8]}")
        self._began = wall_now()
        self._rest_looked = 0
        self._rests = False

    def run(self) -> None:
        """Until told to stop, or the cluster is gone."""
        try:
            while not self._stop.is_set():
                try:
                    self._hold()
                except UnknownCluster:
                    return
                except FencedOut as error:
                    logger.warning("%s", error)
                except OperationalError as error:  # the database is away: nothing in the program to look for
                    logger.error("the fleet of cluster %r stopped (%s); starting it anew", self.cluster, error)  # noqa: TRY400
                    close_old_connections()
                except (ClusterError, DatabaseError):
                    logger.exception("the fleet of cluster %r stopped; starting it anew", self.cluster)
                    close_old_connections()
                self._stop.wait(RETRY_SECONDS)
        finally:
            connections.close_all()

    def _hold(self) -> None:
        if not self._lease.acquire():
            return
        try:
            log = default_log()
            with log.live(self.cluster).reading() as state:
                users = users_of(state, next(log.read(self.cluster, 0, 1)).occurred_at)
                restful = bool(state.options.get("pause_idle"))
            driver = Driver(
                log, self.cluster, passes=Passes(self._settle, deadline_of(self.cluster)), guard=self._lease.check, generator=users
            )
            self._rests = driver.clock.speed == 0
            while not self._stop.is_set():
                if restful:
                    self._mind_rest(driver)
                self.wake.clear()
                wait = driver.turn()
                self._lease.keep(driver.lag)
                if wait:
                    self.wake.wait(wait / SECOND)
        finally:
            self._lease.release()

    def _settle(self, facts: Sequence[NewEvent]) -> None:
        """Wait until the pass has dealt with what happened, or with a deadline where nothing did, within reason."""
        if facts and all(type(fact.payload).__name__ in QUIET for fact in facts):
            return
        live = default_log().live(self.cluster)
        deadline = time.monotonic() + SETTLE_SECONDS
        seen = -1
        while time.monotonic() < deadline and not self._stop.is_set():
            self.wake.clear()
            with live.reading() as state:
                if state.seq != seen and is_settled(state):
                    return
                seen = state.seq
            self._lease.keep(0)
            self.wake.wait(SETTLE_LOOK_SECONDS)
        if not self._stop.is_set():
            logger.warning("the pass of cluster %r is behind; its fleet goes on without it", self.cluster)

    def _mind_rest(self, driver: Driver) -> None:
        now = wall_now()
        if 0 <= now - self._rest_looked < REST_LOOK:
            return
        self._rest_looked = now
        idle: Duration = now - max(last_seen(self.cluster), self._began)
        if idle > REST_AFTER and driver.clock.speed > 0:
            self._rests = True
            driver.set_clock(0)
        elif idle <= REST_AFTER and driver.clock.speed == 0 and self._rests:
            self._rests = False
            driver.set_clock(driver.fleet.options.speed)


class Fleets:
    """Gives each simulated cluster its thread, new ones within a second or two."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._threads: dict[str, tuple[FleetThread, threading.Thread]] = {}

    def run(self) -> None:
        """Until told to stop; then until the fleets have stopped."""
        unsubscribe = subscribe(self._appended)
        try:
            while not self._stop.is_set():
                try:
                    self.look()
                except DatabaseError as error:
                    logger.error("the clusters cannot be listed (%s); trying again", error)  # noqa: TRY400
                    close_old_connections()
                self._stop.wait(NOTICE_SECONDS)
        finally:
            unsubscribe()
            for _, thread in self._threads.values():
                thread.join()
            connections.close_all()

    def look(self) -> None:
        """Start the threads that are missing."""
        for cluster in default_log().clusters():
            running = self._threads.get(cluster)
            if (running is None or not running[1].is_alive()) and _is_simulated(cluster):
                fleet = FleetThread(cluster, self._stop)
                thread = threading.Thread(target=fleet.run, name=f"fleet {cluster}", daemon=True)
                self._threads[cluster] = (fleet, thread)
                thread.start()

    def _appended(self, cluster: str) -> None:
        running = self._threads.get(cluster)
        if running is not None:
            running[0].wake.set()


def _is_simulated(cluster: str) -> bool:
    try:
        with default_log().live(cluster).reading() as state:
            return state.connector == SIMULATED
    except ClusterError:  # removed, or of a later version: not for this process to drive
        return False
