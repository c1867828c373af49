"""A cluster of four racks, and people who may look at it or change it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from clusters.domain.events import NewEvent
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.eventlog.store import append_facts, create_cluster
from tests.api.calls import Api

NAME = "lab"
RACKS = 4
NODES = 18


@pytest.fixture
def cluster(db: None) -> str:
    """Racks r1 to r4, 18 nodes of 4 GPUs each, a domain each, two racks a block."""
    create_cluster(NAME, by="test")
    payloads: list[RackRegistered | NodeRegistered] = []
    for rack in range(1, RACKS + 1):
        payloads.append(RackRegistered(rack=f"r{rack}", block=f"b{(rack + 1) // 2}", switch_trays=9))
        payloads += [
            NodeRegistered(node=f"r{rack}-n{node:02d}", rack=f"r{rack}", domain=f"r{rack}", gpus=4, product="GB200")
            for node in range(1, NODES + 1)
        ]
    append_facts(NAME, [NewEvent(payload, 0, "test", str(number)) for number, payload in enumerate(payloads)])
    return NAME


@pytest.fixture
def admin(db: None) -> Api:
    """An administrator."""
    return _signed_in(User.objects.create_superuser("ada"))


@pytest.fixture
def user(db: None) -> Api:
    """Somebody who may look, and submit jobs."""
    return _signed_in(User.objects.create_user("bob"))


@pytest.fixture
def anonymous(db: None) -> Api:
    """Nobody."""
    return Api(Client())


def _signed_in(who: User) -> Api:
    client = Client()
    client.force_login(who)
    return Api(client)
