"""`manage.py signal_sources --cluster NAME [--add NAME ... | --remove NAME | --forget-agent NODE]`: where signals are fetched from."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import ClusterError
from clusters.eventlog.store import default_log
from clusters.signals.heartbeats import beat_forget
from clusters.signals.models import SignalSource
from clusters.signals.polling import DEFAULT_EVERY_S, EVERY_S, KINDS, source_add


class Command(BaseCommand):
    """Lists the sources of a cluster, after adding or removing one."""

    help = "List, add or remove the addresses that signals about a cluster's nodes are fetched from."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", metavar="NAME", required=True)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--add", metavar="NAME", help="a source of that name; give --kind and --url with it")
        which.add_argument("--remove", metavar="NAME", help="ask this one no longer")
        which.add_argument("--forget-agent", metavar="NODE", help="its agent was removed, so its silence says nothing")
        parser.add_argument("--kind", choices=list(KINDS), help="what it answers with")
        parser.add_argument("--url", help="http:// or https://, without a name or password in it")
        parser.add_argument("--every", type=int, default=DEFAULT_EVERY_S, help=f"seconds, {EVERY_S[0]} to {EVERY_S[1]} ({DEFAULT_EVERY_S})")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        cluster = options["cluster"]
        try:
            default_log().head(cluster)
            if options["add"]:
                if not (options["kind"] and options["url"]):
                    raise CommandError("--add: give --kind and --url with it")
                source_add(cluster=cluster, name=options["add"], kind=options["kind"], url=options["url"], every_s=options["every"])
        except ClusterError as error:
            raise CommandError(str(error)) from None
        if options["remove"] and not SignalSource.objects.filter(cluster=cluster, name=options["remove"]).delete()[0]:
            raise CommandError(f"--remove: cluster {cluster!r} has no source {options['remove']!r}")
        if options["forget_agent"] and not beat_forget(cluster, options["forget_agent"]):
            raise CommandError(f"--forget-agent: no agent of {options['forget_agent']!r} was ever heard")
        self._list(cluster, for_programs=options["json"])

    def _list(self, cluster: str, *, for_programs: bool) -> None:
        sources = SignalSource.objects.filter(cluster=cluster).order_by("name")
        fields = ("name", "kind", "url", "every_s", "enabled", "asked_at", "answered_at", "error", "told")
        if for_programs:
            self.stdout.write(json.dumps({"sources": list(sources.values(*fields))}))
            return
        for source in sources:
            self.stdout.write(f"{source.name}: {source.kind} every {source.every_s} s from {source.url}; {state_of(source)}")
        if not sources:
            self.stdout.write(f"{cluster}: no signals are fetched")


def state_of(source: SignalSource) -> str:
    """How the last time went, in words."""
    if source.asked_at is None:
        return "not asked yet"
    return f"failed: {source.error}" if source.error else source.told
