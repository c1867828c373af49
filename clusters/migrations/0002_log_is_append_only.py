"""Triggers that keep the log append-only in the database itself; see clusters.eventlog.maintenance for the one way past them.

SQLite drops a table's triggers when a later migration rebuilds the table: such a migration must run this one's function again.
"""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLES = ("clusters_logevent", "clusters_logdecision")
MESSAGE = "the event log is append-only"
IS_OPEN = "EXISTS (SELECT 1 FROM clusters_maintenanceentry WHERE open)"

POSTGRES_FUNCTION = f"""
CREATE OR REPLACE FUNCTION slicekeeper_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {IS_OPEN} THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""


def make_append_only(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES_FUNCTION)
    for table in TABLES:
        for verb in ("UPDATE", "DELETE"):
            schema_editor.execute(_trigger(schema_editor.connection.vendor, table, verb))
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(_trigger("postgresql", table, "TRUNCATE"))


def make_changeable(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    postgres = schema_editor.connection.vendor == "postgresql"
    for table in TABLES:
        for verb in ("UPDATE", "DELETE", "TRUNCATE") if postgres else ("UPDATE", "DELETE"):
            schema_editor.execute(f"DROP TRIGGER {table}_no_{verb.lower()}" + (f" ON {table}" if postgres else ""))
    if postgres:
        schema_editor.execute("DROP FUNCTION slicekeeper_refuse_change()")


def _trigger(vendor: str, table: str, verb: str) -> str:
    head = f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}"
    if vendor == "postgresql":
        each = "STATEMENT" if verb == "TRUNCATE" else "ROW"
        return f"{head} FOR EACH {each} EXECUTE FUNCTION slicekeeper_refuse_change()"
    return f"{head} WHEN NOT {IS_OPEN} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_event_log")]
    operations = [migrations.RunPython(make_append_only, make_changeable)]
