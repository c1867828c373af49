"""`flush` that gets past the triggers of the log and leaves an audit line; what it deletes is what Django's own does. Tests call it."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import flush

from clusters.eventlog.maintenance import empty_logs, unlocked


class Command(flush.Command):
    """Empties every table, the event log included."""

    def handle(self, **options: Any) -> None:
        database = options["database"]
        if options["interactive"] and input(f"Delete all data and all history in database {database!r}? Type 'yes': ") != "yes":
            self.stdout.write("Nothing was deleted.")
            return
        with unlocked("flush", "all tables are emptied", database):
            # SQLite deletes table by table, in any order: the log must be empty before the open entry is
            empty_logs(database)
            super().handle(**{**options, "interactive": False})
