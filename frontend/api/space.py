"""Domains, and the slices in them."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.constraints import MAX_NODES
from clusters.domain.jobs import ACTIVE
from frontend.api.base import ApiView, answer
from frontend.api.fields import Input, OneOf, Shaped, Text, WholeNumber, checked
from frontend.api.jobinput import JOB_ID, SUCH_AS
from frontend.selectors.clusters import reading
from frontend.selectors.domains import DomainFacts, DomainFilter, SliceFilter, SliceItem, domain_get, domains_from, slices_from
from frontend.selectors.paging import first_of

MOST_DOMAINS = 1_000
MOST_SLICES = 1_000
MOST_NAME = 253

SLICE = rf"{JOB_ID}\.[0-9]{{1,9}}"


class Domains(msgspec.Struct, frozen=True):
    """Some domains in index order."""

    items: list[DomainFacts]
    next: str | None  # give this as `after`


class Slices(msgspec.Struct, frozen=True):
    """Some slices, those of the oldest job first."""

    items: list[SliceItem]
    next: str | None  # give this as `after`


class DomainsQuery(Input):
    """Which domains."""

    block = Text(MOST_NAME, default="")
    rack = Text(MOST_NAME, default="", help_text="those with nodes in this rack")
    fits = WholeNumber(0, MAX_NODES, default=0, help_text="those with room for a slice of so many nodes now")
    after = Text(MOST_NAME, default="", help_text="the last domain of the page before")
    limit = WholeNumber(1, MOST_DOMAINS, default=200)


class SlicesQuery(Input):
    """Which slices."""

    job = Shaped(JOB_ID, SUCH_AS)
    domain = Text(MOST_NAME, default="")
    state = OneOf(sorted(ACTIVE), default="", help_text="of the job")
    after = Shaped(SLICE, "give the `next` of the page before, such as j000123.0", help_text="the last slice of the page before")
    limit = WholeNumber(1, MOST_SLICES, default=200)


class DomainListView(ApiView):
    """The domains: how much of each is free, what it owes, what runs there."""

    @extend_schema(operation_id="domains_list", parameters=[DomainsQuery], responses=Domains)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(DomainsQuery, request.query_params)
        chosen = DomainFilter(block=query["block"], rack=query["rack"], fits=query["fits"])
        with reading(cluster) as state:
            items, more = first_of(domains_from(state, chosen, query["after"]), query["limit"])
        return answer(Domains(items, items[-1].name if more else None))


class DomainView(ApiView):
    """One domain."""

    @extend_schema(operation_id="domains_get", responses=DomainFacts)
    def get(self, request: Request, cluster: str, domain: str) -> Response:
        with reading(cluster) as state:
            return answer(domain_get(state, domain))


class SliceListView(ApiView):
    """The slices of all active jobs, by slot."""

    @extend_schema(operation_id="slices_list", parameters=[SlicesQuery], responses=Slices)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(SlicesQuery, request.query_params)
        chosen = SliceFilter(job=query["job"], domain=query["domain"], state=query["state"])
        with reading(cluster) as state:
            items, more = first_of(slices_from(state, chosen, _position(query["after"])), query["limit"])
        return answer(Slices(items, f"{items[-1].job}.{items[-1].number}" if more else None))


def _position(cursor: str) -> tuple[int, int]:
    """(position of the job, number of the slice) of a cursor."""
    job, _, number = cursor[1:].partition(".")
    return (int(job), int(number)) if cursor else (0, -1)
